// SPDX-License-Identifier: Apache-2.0

package boot

// SegmentRegister is a segment register's visible and hidden part, in the
// terms of the x86 descriptor.
type SegmentRegister struct {
	Selector uint16
	Base     uint64
	Limit    uint32 // in bytes, granularity applied
	Type     uint8  // 4-bit descriptor type
	DPL      uint8
	Present  bool
	System   bool // true for TSS and LDT: descriptor bit S clear
	Big      bool // D/B: 32-bit default size
	Long     bool
	Granular bool // limit counts pages
	Unusable bool
}

// MSR is a model specific register and its value.
type MSR struct {
	Index uint32
	Value uint64
}

// EntryState is the state of the first vCPU at the PVH entry point, free of
// KVM's types.
type EntryState struct {
	RIP, RBX, RFLAGS       uint64 // all other general registers are zero
	CR0, CR3, CR4, EFER    uint64
	CS, DS, ES, FS, GS, SS SegmentRegister
	TR, LDT                SegmentRegister
	GDTLimit, IDTLimit     uint16 // bases are zero
	MSRs                   []MSR
}

const (
	cr0PE = 1 << 0
	cr0ET = 1 << 4 // reads as one on every CPU since the 486

	typeDataRW   = 0x3 // read/write, accessed
	typeCodeRX   = 0xb // execute/read, accessed
	typeTSS32    = 0xb // 32-bit TSS, busy
	typeLDT      = 0x2
	tssLimit     = 0x67
	msrMTRRDef   = 0x2ff
	mtrrEnableWB = 1<<11 | 6 // MTRRs on, default type write-back
)

// EntryState is how the first vCPU must start (pvh.pandoc, "x86/HVM direct
// boot ABI"): 32-bit protected mode without paging, flat segments, EBX at the
// start info. The GDT is not defined by the protocol: its limit is zero, so
// that a guest which loads a segment before it has a GDT of its own faults
// instead of using leftovers. Selectors are zero for the same reason. Memory
// is write-back by default, as firmware would leave it.
func (m *Image) EntryState() EntryState {
	data := SegmentRegister{Limit: 0xffffffff, Type: typeDataRW, Present: true, Big: true, Granular: true}
	code := data
	code.Type = typeCodeRX
	return EntryState{
		RIP: uint64(m.Entry), RBX: m.StartInfo, RFLAGS: 1 << 1,
		CR0: cr0PE | cr0ET,
		CS:  code, DS: data, ES: data, FS: data, GS: data, SS: data,
		TR:   SegmentRegister{Limit: tssLimit, Type: typeTSS32, Present: true, System: true},
		LDT:  SegmentRegister{Type: typeLDT, System: true, Unusable: true},
		MSRs: []MSR{{msrMTRRDef, mtrrEnableWB}},
	}
}
