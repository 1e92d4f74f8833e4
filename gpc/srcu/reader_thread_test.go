// SPDX-License-Identifier: Apache-2.0

package srcu

import (
	"bytes"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// threadReader returns a restartable reader of the test's own thread.
func threadReader(t *testing.T, d *Domain) *Reader {
	t.Helper()
	runtime.LockOSThread()
	r := d.NewThreadReader()
	t.Cleanup(func() {
		r.Close()
		runtime.UnlockOSThread()
	})
	if r.area == nil {
		_, err := Probe()
		t.Skip("no restartable sections here: ", err)
	}
	return r
}

// begin and end are what a section written for the slot does to the counter.
func (s *Slot) begin() { s.seq.Add(1) }
func (s *Slot) end()   { s.seq.Add(1) }

// restarted reports whether the kernel has restarted sections, by itself or because
// it was asked to.
func restarted(st Stats) bool { return st.Seen || st.Aborted }

// unseen makes it impossible to see where the reader's thread is, so that only a
// fence helps.
func (r *Reader) unseen() { r.slot.area.Store(0) }

func TestARestartableSectionHoldsNoGracePeriodUp(t *testing.T) {
	for _, unseen := range []bool{false, true} {
		d := New(Options{})
		d.backstop = 0
		r := threadReader(t, d)
		if unseen {
			r.unseen()
		}
		r.slot.begin()
		if d.TrySynchronize() {
			t.Fatal("the section was not seen")
		}
		for range 3 {
			if st := d.Synchronize(); st.Fast || !restarted(st) || unseen && !st.Aborted {
				t.Fatalf("%+v", st)
			}
			if st, done := d.SpinSynchronize(time.Minute); !done || !restarted(st) || unseen && !st.Aborted || st.Spun > 10*time.Second {
				t.Fatalf("%+v %v", st, done)
			}
		}
		r.slot.end()
		if st := d.Synchronize(); !st.Fast || restarted(st) {
			t.Fatalf("%+v", st)
		}
	}
}

func TestOtherSectionsOfAThreadReaderAreWaitedFor(t *testing.T) {
	d := New(Options{SpinNs: -1})
	d.backstop = 0
	r := threadReader(t, d)
	for range 3 {
		r.Enter()
		r.Enter()
		var st Stats
		done := background(func() { st = d.Synchronize() })
		until(t, "the updater sleeps", sleeper(r))
		if _, done := d.SpinSynchronize(0); done {
			t.Fatal("a section that cannot be restarted was not waited for")
		}
		r.Exit()
		if !open(done) {
			t.Fatal("an inner Exit ended the section")
		}
		r.Exit()
		ends(t, "the grace period", done)
		if restarted(st) {
			t.Fatalf("%+v", st)
		}
		r.slot.begin()
		if st := d.Synchronize(); !restarted(st) {
			t.Fatalf("the reader is no longer restartable: %+v", st)
		}
		r.slot.end()
	}
}

func TestOneGracePeriodRestartsSomeAndWaitsForOthers(t *testing.T) {
	d := New(Options{SpinNs: -1})
	d.backstop = 0
	restartable, plain := threadReader(t, d), d.NewReader()
	defer plain.Close()
	restartable.slot.begin()
	defer restartable.slot.end()
	plain.Enter()
	var st Stats
	done := background(func() { st = d.Synchronize() })
	until(t, "the updater sleeps", sleeper(plain))
	plain.Exit()
	ends(t, "the grace period", done)
	if !restarted(st) || st.Waited == 0 {
		t.Fatalf("%+v", st)
	}
}

// A kernel, or a filter, that stops to restart sections leaves updaters with the
// means they have without: the section ends, and wakes nobody.
func TestWhenFencesFailSectionsAreWaitedFor(t *testing.T) {
	var log bytes.Buffer
	d := New(Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	d.backstop = 0
	r := threadReader(t, d)
	var waiting atomic.Int64
	d.policy = countedWait{rseqWait{func() error { return errors.New("denied") }}, &waiting}
	r.unseen()
	plain := d.NewReader()
	defer plain.Close()
	for range 3 {
		r.slot.begin()
		plain.Enter()
		if st, done := d.SpinSynchronize(time.Microsecond); done || st.Aborted {
			t.Fatalf("%+v %v", st, done)
		}
		var st Stats
		done := background(func() { st = d.Synchronize() })
		until(t, "the updater waits", func() bool { return waiting.Load() == 1 })
		if !open(done) {
			t.Fatal("nobody has waited for the section")
		}
		r.slot.end()
		r.slot.begin() // a later section delays nobody
		plain.Exit()
		ends(t, "the grace period", done)
		if st.Aborted {
			t.Fatalf("%+v", st)
		}
		r.slot.end()
	}
	if n := strings.Count(log.String(), "denied"); n != 1 {
		t.Errorf("%d warnings, want 1:\n%s", n, &log)
	}
}

func TestPoliciesThatWereAskedFor(t *testing.T) {
	for _, w := range []Wait{WaitRseq, WaitFutex, WaitSleep} {
		t.Run(string(w), func(t *testing.T) {
			d := New(Options{Wait: w, SpinNs: -1})
			if got := d.Mode(); got != w && w != WaitRseq {
				t.Fatalf("mode %q", got)
			}
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			r := d.NewThreadReader()
			defer r.Close()
			if w != WaitRseq && r.slot.mode.Load() != ModePlain {
				t.Error("a restartable reader without the means")
			}
			var published atomic.Pointer[int]
			for range 100 {
				published.Store(new(int))
				r.Enter()
				done := background(func() {
					published.Store(nil)
					d.Synchronize()
				})
				until(t, "the pointer is withdrawn", func() bool { return published.Load() == nil })
				if !open(done) {
					t.Fatal("the grace period ended before the section")
				}
				r.Exit()
				ends(t, "the grace period", done)
			}
		})
	}
	defer func() {
		if recover() == nil {
			t.Error("an unknown policy was accepted")
		}
	}()
	New(Options{Wait: "hope"})
}

func TestASleepingUpdaterNeedsNoWakeUp(t *testing.T) {
	d := New(Options{Wait: WaitSleep})
	r := d.NewReader()
	defer r.Close()
	r.slot.begin()
	done := background(func() { d.Synchronize() })
	r.slot.end()
	ends(t, "the grace period", done)
	if r.slot.waiter.Load() != 0 {
		t.Error("it has asked for one all the same")
	}
}

// Handles and their threads come and go, some without Close, while grace periods
// run; slots are handed on between kinds of readers.
func TestThreadReadersComeAndGo(t *testing.T) {
	d := New(Options{})
	var stop atomic.Bool
	var updater sync.WaitGroup
	updater.Go(func() {
		for !stop.Load() {
			d.Synchronize()
		}
	})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 50 {
				<-background(func() {
					runtime.LockOSThread()
					r := d.NewThreadReader()
					r.slot.begin()
					r.slot.end()
					if n%8 != i { // else it is dropped
						r.Close()
					}
				})
				r := d.NewReader()
				if r.slot.mode.Load() != ModePlain {
					t.Error("a plain reader got a restartable slot")
				}
				r.Enter()
				r.Exit()
				r.Close()
			}
		})
	}
	wg.Wait()
	stop.Store(true)
	updater.Wait()
	until(t, "all slots are free", func() bool {
		runtime.GC()
		d.mu.Lock()
		defer d.mu.Unlock()
		n := 0
		for c := d.head; c != nil; c = c.next.Load() {
			n += int(c.used.Load())
		}
		return len(d.free) == n
	})
}

func TestProbeAgreesWithWhatADomainDoes(t *testing.T) {
	mode, err := Probe()
	if (mode == WaitRseq) != (err == nil) {
		t.Fatalf("%q, %v", mode, err)
	}
	d := New(Options{})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r := d.NewThreadReader()
	defer r.Close()
	if got := r.slot.mode.Load() == ModeRestartable; got != (mode == WaitRseq) {
		t.Errorf("restartable %v, probe says %q: %v", got, mode, err)
	}
	t.Logf("%s: %v", mode, err)
}
