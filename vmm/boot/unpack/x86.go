// SPDX-License-Identifier: Apache-2.0

package unpack

import "encoding/binary"

// decodeX86Branches undoes the x86 branch filter of the .xz format over a
// whole block, in place. The packer had replaced the relative targets of CALL
// (e8) and JMP (e9) by absolute ones, because equal targets then look equal to
// the dictionary. Only targets within 16 MiB were converted: their top byte is
// 00 or ff. Opcode bytes that follow closely on another opcode byte are
// ambiguous (they may be part of the first one's operand), for which the
// format defines the rules below.
func decodeX86Branches(p []byte) {
	if len(p) < 5 {
		return
	}
	signByte := func(b byte) bool { return b == 0x00 || b == 0xff }
	// recent has a bit for each of the last three bytes before i, bit 0 the
	// nearest, that was an opcode byte left unconverted.
	recent, last := uint32(0), -1
	for i := 0; i <= len(p)-5; i++ {
		if p[i]&0xfe != 0xe8 {
			continue
		}
		distance := i - last
		if last < 0 || distance > 3 {
			recent = 0
		} else {
			recent = recent << (distance - 1) & 7
		}
		last = i
		shift := operandShift[recent]
		if recent != 0 && (!mayConvert[recent] || signByte(p[i+4-shift])) {
			recent = recent<<1 | 1
			continue
		}
		if !signByte(p[i+4]) {
			recent = recent<<1 | 1
			continue
		}
		target, next := binary.LittleEndian.Uint32(p[i+1:]), uint32(i+5)
		rel := target - next
		if recent != 0 && signByte(byte(rel>>(24-8*shift))) {
			// The packer had flipped the bits below the ambiguous byte. Once is
			// enough: the two subtractions cancel out, and what is left in that
			// byte is the one in the file, inverted, which was looked at above.
			rel = (rel ^ (1<<(32-8*shift) - 1)) - next
		}
		rel &= 0x01ffffff
		rel |= -(rel & 0x01000000) // sign extension from bit 24
		binary.LittleEndian.PutUint32(p[i+1:], rel)
		i += 4
	}
}

// What the combinations of recent opcode bytes mean: whether an operand may
// be converted at all, and which byte of it decides.
var (
	mayConvert   = [8]bool{true, true, true, false, true, false, false, false}
	operandShift = [8]int{0, 1, 2, 2, 3, 3, 3, 3}
)
