// SPDX-License-Identifier: Apache-2.0

package kvm

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestRoutesHave48ByteEntries(t *testing.T) {
	b, err := encodeRoutes([]Route{ToChip(4, ChipIOAPIC, 4), ToMSI(24, 0x1_fee01000, 0x41), ToXenEvtchn(25, 7, 1)})
	if err != nil {
		t.Fatal(err)
	}
	words := func(w ...uint32) (out []byte) {
		for _, w := range w {
			out = le.AppendUint32(out, w)
		}
		return out
	}
	want := words(3, 0,
		4, 1, 0, 0, 2, 4, 0, 0, 0, 0, 0, 0,
		24, 2, 0, 0, 0xfee01000, 1, 0x41, 0, 0, 0, 0, 0,
		25, 5, 0, 0, 7, 1, 0xffffffff, 0, 0, 0, 0, 0)
	if d := cmp.Diff(want, b); d != "" {
		t.Error(d)
	}
}

func TestBadRoutesAreRefusedBeforeTheKernel(t *testing.T) {
	if _, err := encodeRoutes(make([]Route, 1)); err == nil {
		t.Error("type 0 accepted")
	}
	if _, err := encodeRoutes(make([]Route, MaxRoutes+1)); err == nil || !strings.Contains(err.Error(), "4096") {
		t.Errorf("too many: %v", err)
	}
	v := new(VM)
	v.h.init(-1, "vm", nil, func() error { return nil })
	if err := v.SetGSIRouting(make([]Route, 1)); !errors.Is(err, unix.EINVAL) {
		t.Error(err)
	}
}

func TestCPUIDRoundTrip(t *testing.T) {
	in := []CPUIDEntry{{Function: 0x40000000, Eax: 1, Ebx: 2, Ecx: 3, Edx: 4}, {Function: 4, Index: 1, Flags: CPUIDSignificantIndex}}
	b := encodeCPUID(in)
	if len(b) != 8+2*40 {
		t.Fatalf("%d bytes", len(b))
	}
	if d := cmp.Diff(in, decodeCPUID(b)); d != "" {
		t.Error(d)
	}
	le.PutUint32(b, 0xffffffff) // a count that lies
	if n := len(decodeCPUID(b)); n != 2 {
		t.Errorf("%d entries", n)
	}
	l := newMSRListBuffer(2)
	le.PutUint32(l, 0xffffffff)
	if n := len(decodeMSRList(l)); n != 2 {
		t.Errorf("%d MSRs", n)
	}
}

func TestMSRsEncoding(t *testing.T) {
	b := encodeMSRs([]MSREntry{{Index: 0x4b564d01, Data: 0x50021}})
	if le.Uint32(b) != 1 || le.Uint32(b[8:]) != 0x4b564d01 || le.Uint64(b[16:]) != 0x50021 || len(b) != 24 {
		t.Errorf("% x", b)
	}
}

func TestMSRFilter(t *testing.T) {
	var pin runtime.Pinner
	defer pin.Unpin()
	f, err := encodeMSRFilter([]MSRRange{
		{Base: 0x40000000, N: 256, Read: true, Write: true},
		{Base: 0x10a, N: 1, Read: true, Allow: []byte{1}},
	}, true, &pin)
	if err != nil {
		t.Fatal(err)
	}
	if f.flags != 0 || f.ranges[0].flags != 3 || f.ranges[0].n != 256 || f.ranges[1].flags != 1 || f.ranges[2].n != 0 {
		t.Errorf("%+v", f)
	}
	if f.ranges[0].bitmap == 0 || f.ranges[1].bitmap == 0 {
		t.Error("no bitmap")
	}
	if f, _ := encodeMSRFilter(nil, false, &pin); f.flags != 1 {
		t.Error("default deny")
	}
	for name, r := range map[string][]MSRRange{
		"empty":            {{Base: 1, Read: true}},
		"too long":         {{Base: 1, N: MaxMSRPerRange + 1, Read: true}},
		"wraps":            {{Base: ^uint32(0), N: 2, Read: true}},
		"neither":          {{Base: 1, N: 1}},
		"short bitmap":     {{Base: 1, N: 9, Read: true, Allow: []byte{1}}},
		"too many ranges":  make([]MSRRange, MaxMSRRanges+1),
		"count near 4 Gi":  {{Base: 0, N: ^uint32(0), Read: true}},
		"bitmap but empty": {{Base: 1, N: 1, Read: true, Allow: []byte{}}},
	} {
		if _, err := encodeMSRFilter(r, true, &pin); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestTooManyCapabilityArguments(t *testing.T) {
	v := new(VM)
	v.h.init(-1, "vm", nil, func() error { return nil })
	if err := v.EnableCap(CapSplitIRQChip, 1, 2, 3, 4, 5); !errors.Is(err, unix.EINVAL) || !strings.Contains(err.Error(), "SPLIT_IRQCHIP") {
		t.Error(err)
	}
	if err := v.DirtyLog(0, nil); !errors.Is(err, unix.EINVAL) {
		t.Error(err)
	}
}
