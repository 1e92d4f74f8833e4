// SPDX-License-Identifier: Apache-2.0

package rtc

// CMOS indexes of the memory sizes, low byte first.
const (
	memBase       = 0x15 // KiB below 640 KiB
	memExtended   = 0x17 // KiB above 1 MiB, at most 65535
	memExtended2  = 0x30 // the same
	memAbove16    = 0x34 // 64 KiB units above 16 MiB, below 4 GiB
	memAbove4G    = 0x5b // 64 KiB units above 4 GiB, three bytes
	oneMiB        = 1 << 20
	fourGiB       = 1 << 32
	conventionalK = 640
)

// memorySize fills in the size bytes, each capped at what it can hold.
func (k *Clock) memorySize(ram []Range) {
	var low, high uint64 // end of memory below 4 GiB; bytes above 4 GiB
	for _, r := range ram {
		end := r.GPA + r.Size
		if end < r.GPA {
			continue
		}
		if r.GPA < fourGiB {
			low = max(low, min(end, fourGiB))
		}
		if end > fourGiB {
			high += end - max(r.GPA, fourGiB)
		}
	}
	put := func(index int, v uint64, bytes int) {
		v = min(v, 1<<(8*bytes)-1)
		for i := range bytes {
			k.ram[index+i] = byte(v >> (8 * i))
		}
	}
	above := func(base uint64) uint64 { return max(low, base) - base }
	put(memBase, min(low>>10, conventionalK), 2)
	put(memExtended, above(oneMiB)>>10, 2)
	put(memExtended2, above(oneMiB)>>10, 2)
	put(memAbove16, above(16*oneMiB)>>16, 2)
	put(memAbove4G, high>>16, 3)
}
