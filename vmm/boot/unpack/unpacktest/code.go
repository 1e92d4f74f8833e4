// SPDX-License-Identifier: Apache-2.0

package unpacktest

// Code is n bytes with many CALL and JMP opcodes and near targets, including
// the ambiguous runs that the x86 filter of xz has special rules for. It is
// the same for the same seed.
func Code(n int, seed uint32) []byte {
	p := make([]byte, n)
	for i := range p {
		seed = seed*1664525 + 1013904223
		p[i] = byte(seed >> 24)
	}
	for i := 0; i+5 < n; i++ {
		switch p[i] & 7 {
		case 0:
			p[i] = 0xe8
			p[i+4] = byte(int8(p[i+4]) >> 7) // 00 or ff
			i += int(p[i+1] & 3)
		case 1:
			p[i] = 0xe9
		}
	}
	return p
}
