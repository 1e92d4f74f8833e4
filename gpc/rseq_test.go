// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"xenvmm/gpc/srcu"
)

// onRestartableThread runs f, with a thread reader, on a thread of its own that
// ends with it. It skips the test where there are no restartable sections.
func onRestartableThread(t *testing.T, s *Set, f func(r *Reader)) {
	t.Helper()
	if mode, err := WaitPolicy(); mode != srcu.WaitRseq {
		t.Skip(err)
	}
	<-background(func() {
		runtime.LockOSThread()
		r := s.NewThreadReader()
		defer r.Close()
		f(r)
	})
}

// Signals to a thread abort what it is in the middle of, so a storm of them finds
// out whether ranges are aborted at all and whether they come to the same result
// as without. Each operation is checked against what it should have done.
func TestInterruptedSectionsStartAgainAndDoTheSame(t *testing.T) {
	m := newGuestMemory(t, 1, 2)
	s, _ := newTestSet(t, m, "srcu")
	shared := activated(t, s, "shared_info", 1*pageSize, pageSize)
	vcpu := activated(t, s, "vcpu_info", 2*pageSize, 64)
	sig := portSignal(shared, vcpu, 5)
	data := make([]byte, pageSize/2)
	for i := range data {
		data[i] = byte(i * 7)
	}
	onRestartableThread(t, s, func(r *Reader) {
		var stop atomic.Bool
		var storm sync.WaitGroup
		defer storm.Wait()
		defer stop.Store(true)
		tid := unix.Gettid()
		var steps atomic.Uint64
		storm.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for !stop.Load() {
				// One at a time: a thread that is interrupted again before it has done
				// anything gets nowhere, and is seldom inside a range.
				last := steps.Load()
				for n := 0; n < 1000 && steps.Load() == last; n++ {
				}
				_ = unix.Tgkill(os.Getpid(), tid, unix.SIGURG) // the runtime ignores it
			}
		})
		word := m.page(1).word(0)
		buf := make([]byte, len(data))
		restarts := r.slot.Restarts()
		until(t, "a section has been restarted", func() bool {
			for range 100 {
				before := word.Load()
				switch old, ok := r.CAS32(shared, 0, before, before+1); {
				case !ok || old != before:
					t.Errorf("cas: %d %v, want %d", old, ok, before)
				case word.Load() != before+1:
					t.Errorf("cas: %d, want %d", word.Load(), before+1)
				}
				if old, ok := r.Xchg32(shared, 0, before+2); !ok || old != before+1 {
					t.Errorf("xchg: %d %v, want %d", old, ok, before+1)
				}
				if res := r.Deliver(sig); res != Raised {
					t.Errorf("deliver: %v", res)
				}
				if res := r.Deliver(sig); res != Coalesced {
					t.Errorf("deliver again: %v", res)
				}
				if _, ok := r.And32(shared, sig.Pending.Off, 0); !ok {
					t.Error("and: the word changed all the time")
				}
				if old, ok := r.And32(vcpu, sig.Sel.Off, 0); !ok || old != 1<<sig.Sel.Bit {
					t.Errorf("selector: %#x %v", old, ok)
				}
				if old, ok := r.Xchg8(vcpu, sig.Upcall, 0); !ok || old != 1 {
					t.Errorf("upcall: %d %v", old, ok)
				}
				if !r.WriteAt(shared, data, 64) || !r.ReadAt(shared, buf, 64) || string(buf) != string(data) {
					t.Error("copies differ")
				}
				for range 100 { // where most of the time goes: signals outside a range say nothing
					r.ReadAt(shared, buf, 64)
					steps.Add(1)
				}
				clear(buf)
				for _, off := range []uint32{sig.Pending.Off, sig.Mask.Off} { // where the copy has been
					m.page(1).word(off).Store(0)
				}
			}
			return t.Failed() || r.slot.Restarts() > restarts
		})
		t.Logf("%d restarts", r.slot.Restarts()-restarts)
	})
}
