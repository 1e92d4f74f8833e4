// SPDX-License-Identifier: Apache-2.0

package kvm

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const testPage = 3 * 4096

// runPage is a kvm_run mapping with an exit of the given reason and union.
func runPage(reason ExitReason, union []byte) []byte {
	p := make([]byte, testPage)
	le.PutUint32(p[offExitReason:], uint32(reason))
	copy(p[offUnion:offUnion+sizeUnion], union)
	return p
}

// union lays out 64-bit words and bytes one after the other.
func union(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case uint8:
			b = append(b, p)
		case uint16:
			b = le.AppendUint16(b, p)
		case uint32:
			b = le.AppendUint32(b, p)
		case uint64:
			b = le.AppendUint64(b, p)
		case []byte:
			b = append(b, p...)
		}
	}
	return b
}

func TestDecodeEveryReasonWithData(t *testing.T) {
	pad7 := make([]byte, 7)
	tests := []struct {
		reason ExitReason
		union  []byte
		want   Exit
	}{
		{ExitUnknown, union(uint64(0x1234)), Exit{HardwareExit: 0x1234}},
		{ExitException, union(uint32(14), uint32(2)), Exit{Exception: ExceptionExit{14, 2}}},
		{ExitHypercall, union(uint64(12), uint64(1), uint64(2), uint64(3), uint64(4), uint64(5), uint64(6), uint64(0), uint32(1)),
			Exit{Hypercall: HypercallExit{Nr: 12, Args: [6]uint64{1, 2, 3, 4, 5, 6}, LongMode: true}}},
		{ExitDebug, union(uint32(3), uint32(0), uint64(0xf00), uint64(6), uint64(7)), Exit{Debug: DebugExit{3, 0xf00, 6, 7}}},
		{ExitHLT, nil, Exit{}},
		{ExitMMIO, union(uint64(0xfee00000), []byte{1, 2, 3, 4, 5, 6, 7, 8}, uint32(4), uint8(1)),
			Exit{MMIO: MMIOExit{GPA: 0xfee00000, Data: []byte{1, 2, 3, 4, 5, 6, 7, 8}, Len: 4, Write: true}}},
		{ExitFailEntry, union(uint64(0x80000021), uint32(3)), Exit{FailEntry: FailEntry{0x80000021, 3}}},
		{ExitTPRAccess, union(uint64(0x1000), uint32(1)), Exit{TPR: TPRAccess{0x1000, true}}},
		{ExitInternalError, union(uint32(3), uint32(2), uint64(7), uint64(8), uint64(9)),
			Exit{Internal: InternalError{Suberror: 3, N: 2, Data: [16]uint64{7, 8}}}},
		{ExitSystemEvent, union(uint32(SystemReset), uint32(1), uint64(5)), Exit{SystemEvent: SystemEvent{Type: SystemReset, N: 1, Data: [16]uint64{5}}}},
		{ExitIOAPICEOI, union(uint8(0x31)), Exit{EOIVector: 0x31}},
		{ExitRDMSR, union(uint8(0), pad7, uint32(4), uint32(0x40000000), uint64(0)), Exit{MSR: MSRAccess{Index: 0x40000000, Reason: MSRExitFilter}}},
		{ExitWRMSR, union(uint8(0), pad7, uint32(2), uint32(0x10a), uint64(99)), Exit{MSR: MSRAccess{Index: 0x10a, Data: 99, Reason: MSRExitUnknown, Write: true}}},
		{ExitXen, union(uint32(1), uint32(0), uint32(1), uint32(3), uint64(17), uint64(0), uint64(1), uint64(2), uint64(3), uint64(4), uint64(5), uint64(6)),
			Exit{Xen: XenExit{Type: 1, LongMode: true, CPL: 3, Input: 17, Params: [6]uint64{1, 2, 3, 4, 5, 6}}}},
		{ExitNotify, union(uint32(1)), Exit{NotifyFlags: 1}},
		{ExitMemoryFault, union(uint64(8), uint64(0x1000), uint64(0x2000)), Exit{MemoryFault: MemoryFault{8, 0x1000, 0x2000}}},
		{ExitHyperV, union(uint32(2)), Exit{HyperVType: 2}},
		{ExitTDX, union(uint64(0x10003)), Exit{TDXNr: 0x10003}},
		{ExitShutdown, nil, Exit{}},
		{ExitReason(12345), nil, Exit{}},
	}
	for _, tt := range tests {
		t.Run(tt.reason.String(), func(t *testing.T) {
			var e Exit
			decode(runPage(tt.reason, tt.union), &e)
			tt.want.Reason = tt.reason
			if d := cmp.Diff(tt.want, e, cmpopts.IgnoreUnexported(Exit{}, MSRAccess{}, HypercallExit{}, XenExit{})); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDecodeHeader(t *testing.T) {
	p := runPage(ExitHLT, nil)
	p[offReady], p[offIfFlag] = 1, 1
	le.PutUint16(p[offFlags:], 3)
	le.PutUint64(p[offCR8:], 5)
	le.PutUint64(p[offAPICBase:], 0xfee00900)
	var e Exit
	decode(p, &e)
	if !e.ReadyForInterrupt || !e.IfFlag || !e.SMM || !e.BusLock || e.CR8 != 5 || e.APICBase != 0xfee00900 {
		t.Errorf("%+v", e)
	}
}

func TestIOExitShowsEveryRepetition(t *testing.T) {
	p := runPage(ExitIO, union(uint8(1), uint8(2), uint16(0x3f8), uint32(3), uint64(4096)))
	copy(p[4096:], "abcdefgh")
	var e Exit
	decode(p, &e)
	if e.Err != nil || !e.IO.Out || e.IO.Port != 0x3f8 || string(e.IO.Data) != "abcdef" {
		t.Errorf("%+v", e.IO)
	}
	if cap(e.IO.Data) != 6 {
		t.Errorf("the window reaches %d bytes", cap(e.IO.Data))
	}
}

func TestMalformedExitsGiveNoWindow(t *testing.T) {
	io := func(dir, size uint8, count uint32, offset uint64) []byte {
		return runPage(ExitIO, union(dir, size, uint16(0x10), count, offset))
	}
	tests := map[string][]byte{
		"count beyond the mapping":   io(1, 4, 2049, 4096),
		"count times size overflows": io(1, 4, 0xffffffff, 4096),
		"offset beyond the mapping":  io(0, 1, 1, testPage),
		"offset overflows":           io(0, 4, 4, ^uint64(0)-3),
		"offset into the header":     io(0, 4, 1, 0),
		"offset into the sync regs":  io(0, 4, 1, offSyncRegs),
		"size 0":                     io(1, 0, 1, 4096),
		"size 3":                     io(1, 3, 1, 4096),
		"size 8":                     io(1, 8, 1, 4096),
		"count 0":                    io(1, 1, 0, 4096),
		"direction 2":                io(2, 1, 1, 4096),
		"mmio of 9 bytes":            runPage(ExitMMIO, union(uint64(0), uint64(0), uint32(9))),
		"mmio of 0 bytes":            runPage(ExitMMIO, union(uint64(0), uint64(0), uint32(0))),
		"mmio of 4 GiB":              runPage(ExitMMIO, union(uint64(0), uint64(0), ^uint32(0))),
		"short mapping":              make([]byte, sizeRunPage-1),
	}
	for name, page := range tests {
		t.Run(name, func(t *testing.T) {
			var e Exit
			decode(page, &e)
			if !errors.Is(e.Err, ErrMalformed) || len(e.IO.Data) != 0 || e.MMIO.Len != 0 {
				t.Errorf("err %v, io %d bytes, mmio %d bytes", e.Err, len(e.IO.Data), e.MMIO.Len)
			}
		})
	}
}

func TestAnErrorDoesNotOutliveItsExit(t *testing.T) {
	var e Exit
	decode(runPage(ExitMMIO, nil), &e)
	if e.Err == nil {
		t.Fatal("accepted")
	}
	decode(runPage(ExitHLT, nil), &e)
	if e.Err != nil {
		t.Error(e.Err)
	}
}

func TestCountedDataIsCutAndCleared(t *testing.T) {
	var full []byte
	for i := range 31 {
		full = le.AppendUint64(full, uint64(i)+1)
	}
	var e Exit
	decode(runPage(ExitInternalError, union(uint32(1), uint32(0xffffffff), full)), &e)
	if e.Internal.N != 16 || e.Internal.Data[15] != 16 {
		t.Errorf("%+v", e.Internal)
	}
	decode(runPage(ExitInternalError, union(uint32(1), uint32(1), full)), &e)
	if e.Internal.N != 1 || e.Internal.Data[1] != 0 {
		t.Errorf("old data left: %+v", e.Internal)
	}
}

func TestInstructionBytesOfAnEmulationFailure(t *testing.T) {
	insn := union(uint8(3), []byte{0x0f, 0x01, 0xc1}, make([]byte, 12))
	var e Exit
	var buf [15]byte
	decode(runPage(ExitInternalError, union(uint32(1), uint32(3), uint64(1), insn)), &e)
	if got := e.Internal.Instruction(&buf); !bytes.Equal(got, []byte{0x0f, 0x01, 0xc1}) {
		t.Errorf("% x", got)
	}
	insn[0] = 255
	decode(runPage(ExitInternalError, union(uint32(1), uint32(3), uint64(1), insn)), &e)
	if got := e.Internal.Instruction(&buf); len(got) != 15 {
		t.Errorf("%d bytes", len(got))
	}
	decode(runPage(ExitInternalError, union(uint32(1), uint32(3), uint64(0), insn)), &e)
	if got := e.Internal.Instruction(&buf); got != nil {
		t.Errorf("% x without the flag", got)
	}
}

func TestCompletionsLandInThePage(t *testing.T) {
	var e Exit
	p := runPage(ExitRDMSR, nil)
	decode(p, &e)
	e.MSR.Complete(0x1122334455667788, false)
	if p[offUnion] != 0 || le.Uint64(p[offUnion+offMSRData:]) != 0x1122334455667788 {
		t.Error("RDMSR value")
	}
	e.MSR.Complete(1, true)
	if p[offUnion] != 1 {
		t.Error("RDMSR fault")
	}
	p = runPage(ExitWRMSR, union(uint64(0), uint64(0), uint64(42)))
	decode(p, &e)
	e.MSR.Complete(7, false)
	if le.Uint64(p[offUnion+offMSRData:]) != 42 {
		t.Error("WRMSR changed the data")
	}
	p = runPage(ExitXen, nil)
	decode(p, &e)
	e.Xen.Complete(^uint64(37))
	if le.Uint64(p[offUnion+24:]) != ^uint64(37) {
		t.Error("Xen result")
	}
	p = runPage(ExitHypercall, nil)
	decode(p, &e)
	e.Hypercall.Complete(9)
	if le.Uint64(p[offUnion+56:]) != 9 {
		t.Error("hypercall result")
	}
	p = runPage(ExitMMIO, union(uint64(0), uint64(0), uint32(8)))
	decode(p, &e)
	copy(e.MMIO.Data, "ABCDEFGH")
	if string(p[offUnion+8:offUnion+16]) != "ABCDEFGH" {
		t.Error("MMIO read")
	}
	// Exits that were not decoded, as other packages' tests make them.
	new(MSRAccess).Complete(1, true)
	new(XenExit).Complete(1)
	new(HypercallExit).Complete(1)
}

func TestReasonNames(t *testing.T) {
	for r, want := range map[ExitReason]string{
		ExitIO: "IO", ExitXen: "XEN", ExitNotify: "NOTIFY", ExitTDX: "TDX", ExitMemoryFault: "MEMORY_FAULT",
		ExitReason(ExitReasons): "exit reason 41", ^ExitReason(0): "exit reason 4294967295",
	} {
		if r.String() != want {
			t.Errorf("%d: %s, want %s", uint32(r), r, want)
		}
	}
}

func decodePages() [][]byte {
	pages := [][]byte{runPage(ExitIO, union(uint8(1), uint8(4), uint16(0xfa), uint32(1), uint64(4096)))}
	for r := range ExitReason(ExitReasons + 1) {
		pages = append(pages, runPage(r, nil))
	}
	return pages
}

func BenchmarkDecodeIO(b *testing.B) {
	p := decodePages()[0]
	var e Exit
	b.ReportAllocs()
	for b.Loop() {
		decode(p, &e)
	}
}

func FuzzDecode(f *testing.F) {
	for _, p := range decodePages() {
		f.Add(p[:offUnion+64], uint16(testPage))
	}
	f.Add(runPage(ExitIO, union(uint8(0), uint8(4), uint16(1), uint32(0xffffffff), ^uint64(0)))[:offUnion+64], uint16(4096))
	f.Fuzz(func(t *testing.T, head []byte, size uint16) {
		page := make([]byte, int(size)%(testPage+1))
		copy(page, head)
		var e Exit
		decode(page, &e)
		total := uint64(e.IO.Size) * uint64(e.IO.Count)
		if e.Reason == ExitIO && e.Err == nil && uint64(len(e.IO.Data)) != total {
			t.Errorf("window of %d bytes for %d", len(e.IO.Data), total)
		}
		if e.MMIO.Len > 8 || e.Internal.N > 16 || e.SystemEvent.N > 16 {
			t.Error("unchecked count")
		}
		clear(e.IO.Data)
		e.MSR.Complete(1, true)
		e.Xen.Complete(1)
		e.Hypercall.Complete(1)
		var buf [15]byte
		e.Internal.Instruction(&buf)
		_ = e.Reason.String()
		_ = e.Raw()
	})
}
