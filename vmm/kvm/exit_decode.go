// SPDX-License-Identifier: Apache-2.0

package kvm

// Offsets in struct kvm_run, and in the members of its union.
const (
	offRequestWindow  = 0
	offImmediateExit  = 1
	offExitReason     = 8
	offReady          = 12
	offIfFlag         = 13
	offFlags          = 14
	offCR8            = 16
	offAPICBase       = 24
	offUnion          = 32
	sizeUnion         = 256
	offValidRegs      = 288
	offDirtyRegs      = 296
	offSyncRegs       = 304
	offSyncSregs      = offSyncRegs + 144
	offSyncEvents     = offSyncSregs + 312
	msrSize           = 24
	offMSRError       = 0
	offMSRReason      = 8
	offMSRIndex       = 12
	offMSRData        = 16
	offXenResult      = 24
	offHypercallRet   = 56
	offHypercallWidth = 64
)

// decode fills e from a kvm_run mapping. It reads each field once, checks every
// offset and count against the mapping, and neither allocates nor panics
// whatever the page holds, as long as it has sizeRunPage bytes.
func decode(page []byte, e *Exit) {
	if len(page) < sizeRunPage {
		e.Reason, e.Err = ExitUnknown, ErrMalformed
		return
	}
	u := page[offUnion : offUnion+sizeUnion : offUnion+sizeUnion]
	flags := le.Uint16(page[offFlags:])
	e.Reason = ExitReason(le.Uint32(page[offExitReason:]))
	e.Err = nil
	e.ReadyForInterrupt = page[offReady] != 0
	e.IfFlag = page[offIfFlag] != 0
	e.SMM, e.BusLock = flags&1 != 0, flags&2 != 0
	e.CR8, e.APICBase = le.Uint64(page[offCR8:]), le.Uint64(page[offAPICBase:])
	e.undecodedTail = u

	switch e.Reason {
	case ExitIO:
		e.Err = decodeIO(page, u, &e.IO)
	case ExitMMIO:
		e.Err = decodeMMIO(u, &e.MMIO)
	case ExitRDMSR, ExitWRMSR:
		e.MSR = MSRAccess{
			Index: le.Uint32(u[offMSRIndex:]), Data: le.Uint64(u[offMSRData:]),
			Reason: MSRExit(le.Uint32(u[offMSRReason:])), Write: e.Reason == ExitWRMSR, answer: u[:msrSize],
		}
	case ExitXen:
		x := &e.Xen
		x.Type, x.LongMode, x.CPL = le.Uint32(u), le.Uint32(u[8:]) != 0, le.Uint32(u[12:])
		x.Input, x.answer = le.Uint64(u[16:]), u[offXenResult:offXenResult+8]
		words(x.Params[:], u[32:])
	case ExitHypercall:
		h := &e.Hypercall
		h.Nr, h.LongMode = le.Uint64(u), le.Uint32(u[offHypercallWidth:]) != 0
		h.answer = u[offHypercallRet : offHypercallRet+8]
		words(h.Args[:], u[8:])
	case ExitFailEntry:
		e.FailEntry = FailEntry{HardwareReason: le.Uint64(u), CPU: le.Uint32(u[8:])}
	case ExitInternalError:
		e.Internal.Suberror, e.Internal.N = counted(u, &e.Internal.Data)
	case ExitSystemEvent:
		e.SystemEvent.Type, e.SystemEvent.N = counted(u, &e.SystemEvent.Data)
	case ExitIOAPICEOI:
		e.EOIVector = u[0]
	case ExitDebug:
		e.Debug = DebugExit{Exception: le.Uint32(u), PC: le.Uint64(u[8:]), DR6: le.Uint64(u[16:]), DR7: le.Uint64(u[24:])}
	case ExitException:
		e.Exception = ExceptionExit{Vector: le.Uint32(u), ErrorCode: le.Uint32(u[4:])}
	case ExitTPRAccess:
		e.TPR = TPRAccess{RIP: le.Uint64(u), Write: le.Uint32(u[8:]) != 0}
	case ExitMemoryFault:
		e.MemoryFault = MemoryFault{Flags: le.Uint64(u), GPA: le.Uint64(u[8:]), Size: le.Uint64(u[16:])}
	case ExitNotify:
		e.NotifyFlags = le.Uint32(u)
	case ExitHyperV:
		e.HyperVType = le.Uint32(u)
	case ExitTDX:
		e.TDXNr = le.Uint64(u)
	case ExitUnknown:
		e.HardwareExit = le.Uint64(u)
	}
}

// decodeIO: {u8 direction, size; u16 port; u32 count; u64 data_offset}. The
// data lie in the mapping behind kvm_run (the second page).
func decodeIO(page, u []byte, io *IOExit) error {
	offset := le.Uint64(u[8:])
	io.Out, io.Size = u[0] == 1, u[1]
	io.Port, io.Count = le.Uint16(u[2:]), le.Uint32(u[4:])
	io.Data = nil
	total := uint64(io.Size) * uint64(io.Count)
	if io.Size != 1 && io.Size != 2 && io.Size != 4 || u[0] > 1 || io.Count == 0 ||
		offset < sizeRunPage || offset > uint64(len(page)) || total > uint64(len(page))-offset {
		return ErrMalformed
	}
	io.Data = page[offset : offset+total : offset+total]
	return nil
}

// decodeMMIO: {u64 phys_addr; u8 data[8]; u32 len; u8 is_write}.
func decodeMMIO(u []byte, m *MMIOExit) error {
	m.GPA, m.Data, m.Len, m.Write = le.Uint64(u), u[8:16:16], le.Uint32(u[16:]), u[20] != 0
	if m.Len == 0 || m.Len > 8 {
		m.Len = 0
		return ErrMalformed
	}
	return nil
}

// counted decodes {u32 type, n; u64 data[16]}: words beyond n are cleared and
// an n beyond the array is cut.
func counted(u []byte, data *[16]uint64) (typ, n uint32) {
	typ, n = le.Uint32(u), min(le.Uint32(u[4:]), uint32(len(data)))
	clear(data[n:])
	words(data[:n], u[8:])
	return typ, n
}

func words(dst []uint64, src []byte) {
	for i := range dst {
		dst[i] = le.Uint64(src[8*i:])
	}
}
