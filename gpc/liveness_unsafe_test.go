// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"xenvmm/gpc/srcu"

	"golang.org/x/sys/unix"
)

// waiterWord is the word that an updater sleeps on until r's section ends.
func waiterWord(r *Reader) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Add(unsafe.Pointer(r.slot), srcu.SlotWaiter))
}

// sleepsOn starts a thread that sleeps on the word as long as it is 1, without a
// time limit, and returns when it does.
func sleepsOn(t *testing.T, w *atomic.Uint32) (awake <-chan struct{}) {
	w.Store(1)
	var tid atomic.Int64
	awake = background(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		tid.Store(int64(unix.Gettid()))
		for w.Load() == 1 {
			_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), 128 /* FUTEX_WAIT|FUTEX_PRIVATE_FLAG */, 1, 0, 0, 0)
		}
	})
	until(t, "the thread sleeps", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/syscall", tid.Load()))
		return err == nil && strings.HasPrefix(string(b), fmt.Sprintf("%d ", unix.SYS_FUTEX)) &&
			strings.Contains(string(b), fmt.Sprintf(" %#x ", uintptr(unsafe.Pointer(w))))
	})
	return awake
}

// Every way out of every section wakes the updater that sleeps until it ends,
// also the ways out that did nothing. There is no time limit here that would help
// out.
func TestEveryWayOutOfASectionWakesTheUpdater(t *testing.T) {
	if b, err := os.ReadFile("/proc/self/syscall"); err != nil || len(b) == 0 {
		t.Skip("whether a thread sleeps is seen in /proc/self/task/*/syscall, which this kernel does not have: ", err)
	}
	m := newGuestMemory(t, 1, 2, 3)
	s, _ := newTestSet(t, m, "srcu")
	shared := activated(t, s, "shared_info", 1*pageSize, pageSize)
	vcpu := activated(t, s, "vcpu_info", 2*pageSize, 64)
	stale := s.NewCache("stale")
	r := s.NewReader()
	defer r.Close()
	sig := portSignal(shared, vcpu, 3)
	staleSig := portSignal(stale, vcpu, 3)
	staleVCPU := portSignal(shared, stale, 4)
	buf := make([]byte, 8)
	result := func(want Result, f func(*Signal) Result, sig *Signal) func() error {
		return func() error {
			if got := f(sig); got != want {
				return fmt.Errorf("%v, not %v", got, want)
			}
			return nil
		}
	}
	ok := func(want bool, f func() bool) func() error {
		return func() error {
			if f() != want {
				return fmt.Errorf("ok is not %v", want)
			}
			return nil
		}
	}
	set := func(off uint32, bits uint32) { m.page(1).word(off).Or(bits) }
	words := func(c *Cache, off uint32) []func() bool {
		return []func() bool{
			func() bool { _, ok := r.Load32(c, off); return ok },
			func() bool { _, ok := r.Xchg32(c, off, 1); return ok },
			func() bool { _, ok := r.Xchg8(c, off, 1); return ok },
			func() bool { _, ok := r.Or32(c, off, 1); return ok },
			func() bool { _, ok := r.And32(c, off, 1); return ok },
			func() bool { _, ok := r.CAS32(c, off, 1, 2); return ok },
			func() bool { _, ok := r.CAS32(c, off, 77, 2); return ok },
			func() bool { return r.WriteAt(c, buf, off) },
			func() bool { return r.ReadAt(c, buf, off) },
		}
	}
	type step struct {
		name string
		do   func() error
	}
	steps := []step{
		{"deliver, stale", result(Stale, r.Deliver, staleSig)},
		{"deliver, raised", result(Raised, r.Deliver, sig)},
		{"deliver, coalesced", result(Coalesced, r.Deliver, sig)},
		{"deliver, stale vcpu_info", result(StaleVCPU, r.Deliver, staleVCPU)},
		{"deliver, pending", result(Pending, r.Deliver, portSignal(shared, vcpu, 5))},
		{"deliver, masked", func() error {
			set(0xa00, 1<<6)
			return result(Masked, r.Deliver, portSignal(shared, vcpu, 6))()
		}},
		{"unmask, stale", result(Stale, r.Unmask, staleSig)},
		{"unmask, not masked", result(NotPending, r.Unmask, sig)},
		{"unmask, pending", result(Pending, r.Unmask, portSignal(shared, vcpu, 6))},
		{"unmask, not pending", func() error {
			set(0xa00, 1<<7)
			return result(NotPending, r.Unmask, portSignal(shared, vcpu, 7))()
		}},
		{"unmask, stale vcpu_info", func() error {
			set(0xa00, 1<<4)
			return result(StaleVCPU, r.Unmask, staleVCPU)()
		}},
		{"resume, stale", result(StalePort, r.Resume, staleSig)},
		{"resume, stale vcpu_info", result(StaleVCPU, r.Resume, staleVCPU)},
		{"resume, not pending", result(NotPending, r.Resume, portSignal(shared, vcpu, 9))},
		{"resume, pending", result(Pending, r.Resume, sig)},
		{"resume, masked", func() error {
			set(0xa00, 1<<6)
			return result(Masked, r.Resume, portSignal(shared, vcpu, 6))()
		}},
		{"raise, pending", result(Pending, r.Raise, sig)},
		{"raise, stale", result(StaleVCPU, r.Raise, staleVCPU)},
		{"raise, raised", func() error {
			m.page(2).word(0).Store(0)
			return result(Raised, r.Raise, sig)()
		}},
	}
	for i := range words(vcpu, 32) {
		name := [...]string{"load", "xchg32", "xchg8", "or", "and", "cas that fails", "cas", "write", "read"}[i]
		steps = append(steps,
			step{name, ok(true, words(vcpu, 32)[i])},
			step{name + ", stale", ok(false, words(stale, 32)[i])},
			step{name + ", out of range", ok(false, words(vcpu, 64)[i])})
	}
	for _, st := range steps {
		w := waiterWord(r)
		awake := sleepsOn(t, w)
		if err := st.do(); err != nil {
			t.Fatalf("%s: %v", st.name, err)
		}
		if w.Load() != 0 {
			t.Fatalf("%s: left the section without a look at who waits for it", st.name)
		}
		until(t, st.name+" wakes the updater", func() bool { return !running(awake) })
	}
}
