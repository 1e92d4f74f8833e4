// SPDX-License-Identifier: Apache-2.0

package kvm

import (
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func TestControlBitsDoNotDisturbEachOther(t *testing.T) {
	c := &VCPU{page: make([]byte, testPage)}
	c.h.init(-1, "vcpu 0", nil, func() error { return nil })
	for i := range 8 {
		c.page[i] = 0xa0
	}
	c.page[offRequestWindow], c.page[offImmediateExit] = 0, 0
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 1000 {
				c.SetImmediateExit(true)
				c.SetImmediateExit(false)
			}
			c.SetImmediateExit(true)
		})
	}
	for range 1000 {
		c.RequestInterruptWindow(true)
		c.RequestInterruptWindow(false)
	}
	c.RequestInterruptWindow(true)
	wg.Wait()
	want := [8]byte{1, 1, 0xa0, 0xa0, 0xa0, 0xa0, 0xa0, 0xa0}
	if got := [8]byte(c.page[:8]); got != want {
		t.Errorf("% x", got)
	}
}

func TestSyncViewsAreTheRightBytes(t *testing.T) {
	c := &VCPU{page: make([]byte, testPage)}
	c.RunRegs().RIP = 0x1122
	c.RunSregs().EFER = 0x3344
	c.RunEvents().I.Nr = 0x55
	c.SetSyncValid(SyncRegs | SyncSregs)
	c.MarkRegsDirty()
	c.MarkSregsDirty()
	c.SetCR8(6)
	for _, tt := range []struct {
		name string
		off  int
		want uint64
	}{
		{"rip", 304 + 16*8, 0x1122}, {"efer", 304 + 144 + 264, 0x3344},
		{"valid", 288, 3}, {"dirty", 296, 3}, {"cr8", 16, 6},
	} {
		if got := le.Uint64(c.page[tt.off:]); got != tt.want {
			t.Errorf("%s: %#x, want %#x", tt.name, got, tt.want)
		}
	}
	if c.page[304+144+312+9] != 0x55 {
		t.Error("events")
	}
}

func TestRunOnWhatIsNoVCPUFails(t *testing.T) {
	c := standIn(t)
	if err := c.Run(); err == nil || err.Error() == "" {
		t.Error("KVM_RUN on a pipe succeeded")
	}
}

// standIn is a vCPU whose descriptor is a pipe. It left with a port access.
func standIn(t *testing.T) *VCPU {
	t.Helper()
	c := &VCPU{page: runPage(ExitIO, union(uint8(1), uint8(4), uint16(0xfa), uint32(1), uint64(4096)))}
	r, w := pipe(t)
	c.h.init(r, "vcpu 0", nil, func() error { return unix.Close(r) })
	t.Cleanup(func() { c.Close(); unix.Close(w) })
	return c
}

func pipe(t *testing.T) (r, w int) {
	t.Helper()
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	return p[0], p[1]
}
