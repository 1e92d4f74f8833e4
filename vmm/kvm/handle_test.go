// SPDX-License-Identifier: Apache-2.0

package kvm

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// fakeHandle counts its destructions.
func fakeHandle(destroyed *atomic.Int32, onLeak func(string)) *handle {
	h := new(handle)
	h.init(-1, "fake", onLeak, func() error { destroyed.Add(1); return nil })
	return h
}

func TestCloseWaitsForTheLastCall(t *testing.T) {
	var destroyed atomic.Int32
	h := fakeHandle(&destroyed, nil)
	for range 2 {
		if !h.acquire() {
			t.Fatal("open handle refused")
		}
	}
	if err := h.close(); err != nil {
		t.Fatal(err)
	}
	if h.acquire() {
		t.Error("closed handle accepted a call")
	}
	h.release()
	if destroyed.Load() != 0 {
		t.Error("destroyed under a call")
	}
	h.release()
	if destroyed.Load() != 1 {
		t.Errorf("destroyed %d times", destroyed.Load())
	}
	_ = h.close()
	if h.acquire() || destroyed.Load() != 1 {
		t.Error("second close did something")
	}
}

func TestCloseRacesWithCalls(t *testing.T) {
	for range 200 {
		var destroyed, inside atomic.Int32
		h := new(handle)
		h.init(-1, "fake", nil, func() error {
			destroyed.Add(1)
			if inside.Load() != 0 {
				t.Error("destroyed under a call")
			}
			return nil
		})
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for range 50 {
					if h.acquire() {
						inside.Add(1)
						inside.Add(-1)
						h.release()
					}
				}
				if i < 2 {
					_ = h.close()
				}
			})
		}
		wg.Wait()
		if destroyed.Load() != 1 {
			t.Fatalf("destroyed %d times", destroyed.Load())
		}
	}
}

func TestCloseReportsItsError(t *testing.T) {
	h := new(handle)
	h.init(-1, "fake", nil, func() error { return unix.EIO })
	if err := h.close(); !errors.Is(err, unix.EIO) || !strings.Contains(err.Error(), "fake") {
		t.Error(err)
	}
}

func TestCallsAfterCloseSayClosed(t *testing.T) {
	s := &System{}
	s.h.init(-1, "sys", nil, func() error { return nil })
	v := &VM{}
	v.h.init(-1, "vm", nil, func() error { return nil })
	c := &VCPU{page: make([]byte, testPage)}
	c.h.init(-1, "vcpu 0", nil, func() error { return nil })
	for _, err := range []error{s.Close(), v.Close(), c.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, e1 := s.CheckExtension(CapIRQFD)
	_, e2 := s.CreateVM()
	_, e3 := v.CreateVCPU(0)
	_, e4 := v.SignalMSI(0xfee00000, 0x41)
	e5 := v.SetUserMemoryRegion(0, 0, 0, 4096, 4096)
	e6 := c.Run()
	e7 := c.Regs(new(Regs))
	for i, err := range []error{e1, e2, e3, e4, e5, e6, e7} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("call %d: %v", i+1, err)
		}
	}
	c.SetImmediateExit(true)
	if c.page[offImmediateExit] != 0 {
		t.Error("SetImmediateExit wrote to the page of a closed vCPU")
	}
}

func TestLeaksAreReported(t *testing.T) {
	var destroyed atomic.Int32
	reports := make(chan string, 4)
	report := func(what string) { reports <- what }
	type owner struct {
		h handle
		_ [64]byte
	}
	drop := func(closed bool) {
		o := new(owner)
		o.h.init(-1, map[bool]string{true: "closed", false: "dropped"}[closed], report, func() error { destroyed.Add(1); return nil })
		watch(o, &o.h)
		if closed {
			_ = o.h.close()
		}
	}
	drop(true)
	drop(false)
	for len(reports) == 0 {
		runtime.GC()
	}
	if got := <-reports; got != "dropped" {
		t.Errorf("reported %q", got)
	}
	if len(reports) != 0 || destroyed.Load() != 1 {
		t.Errorf("%d more reports, %d destroyed", len(reports), destroyed.Load())
	}
}

func TestOpenErrorsNameThePathAndTheRemedy(t *testing.T) {
	dir := t.TempDir()
	absent := filepath.Join(dir, "kvm")
	_, err := Open(absent)
	if err == nil || !strings.Contains(err.Error(), absent) || !strings.Contains(err.Error(), "modprobe") {
		t.Errorf("absent: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := openFDs(t)
	_, err = Open(file)
	if !errors.Is(err, unix.ENOTTY) || !strings.Contains(err.Error(), file) {
		t.Errorf("not KVM: %v", err)
	}
	if after := openFDs(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	if os.Getuid() != 0 {
		if err := os.Chmod(file, 0); err != nil {
			t.Fatal(err)
		}
		_, err = Open(file)
		if err == nil || !strings.Contains(err.Error(), "group") {
			t.Errorf("forbidden: %v", err)
		}
	}
}

func openFDs(t *testing.T) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}

func TestInterruptedRequestsAreMadeAgain(t *testing.T) {
	tries := 0
	r, errno := untilWhole(func() (int, unix.Errno) {
		if tries++; tries < 4 {
			return -1, unix.EINTR
		}
		return 7, 0
	})
	if r != 7 || errno != 0 || tries != 4 {
		t.Errorf("got %d, %v after %d tries; want 7 after 4", r, errno, tries)
	}
	if _, errno := untilWhole(func() (int, unix.Errno) { return -1, unix.EBUSY }); errno != unix.EBUSY {
		t.Errorf("got %v, want EBUSY", errno)
	}
}
