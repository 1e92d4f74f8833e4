// SPDX-License-Identifier: Apache-2.0

package eventfd

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type local struct{ opened, released *atomic.Int32 }

func newEvent(t testing.TB) *Event {
	t.Helper()
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func newWaiter(t testing.TB, o Options) *Waiter[int] {
	t.Helper()
	w, err := NewWaiter(o, func() (int, func()) { return 7, nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func add(t testing.TB, w *Waiter[int], fd int, f func(int, uint64)) *Source[int] {
	t.Helper()
	s, err := w.Add(fd, SinkFunc[int](f))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEveryWriteIsCountedOnce(t *testing.T) {
	for _, busy := range []time.Duration{0, 200 * time.Microsecond} {
		w := newWaiter(t, Options{BusyPoll: busy})
		const sources, writes = 8, 2000
		var got [sources]atomic.Uint64
		done := make(chan struct{})
		var total atomic.Uint64
		events := make([]*Event, sources)
		for i := range events {
			events[i] = newEvent(t)
			add(t, w, events[i].FD(), func(l int, n uint64) {
				if l != 7 {
					t.Errorf("sink got local %d, want 7", l)
				}
				got[i].Add(n)
				if total.Add(n) == sources*writes {
					close(done)
				}
			})
		}
		var wg sync.WaitGroup
		for i := range events {
			wg.Go(func() {
				for range writes {
					if err := events[i].Signal(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		<-done
		for i := range got {
			if n := got[i].Load(); n != writes {
				t.Errorf("source %d: %d writes counted, want %d", i, n, writes)
			}
		}
	}
}

func TestClosedSourceNeverFires(t *testing.T) {
	w := newWaiter(t, Options{})
	for range 200 {
		e := newEvent(t)
		var closed atomic.Bool
		s := add(t, w, e.FD(), func(int, uint64) {
			if closed.Load() {
				t.Error("sink ran after Close returned")
			}
		})
		var wg sync.WaitGroup
		wg.Go(func() { _ = e.Signal() })
		s.Close()
		closed.Store(true)
		wg.Wait()
		_ = e.Signal()
	}
}

func TestAFireUnderWayDoesNotReachAClosedSource(t *testing.T) {
	w := newWaiter(t, Options{})
	e := newEvent(t)
	s := add(t, w, e.FD(), func(int, uint64) { t.Error("the sink of a closed source ran") })
	s.Close()
	// The thread may have looked the source up before it was closed.
	_ = e.Signal()
	var buf [8]byte
	s.fire(7, &buf)
}

func TestOneSinkMayCloseAnother(t *testing.T) {
	w := newWaiter(t, Options{})
	a, b := newEvent(t), newEvent(t)
	done := make(chan struct{})
	sb := add(t, w, b.FD(), func(int, uint64) {})
	add(t, w, a.FD(), func(int, uint64) { sb.Close(); close(done) })
	_ = a.Signal()
	<-done
}

func TestSetupAndReleaseRunOnce(t *testing.T) {
	l := local{new(atomic.Int32), new(atomic.Int32)}
	w, err := NewWaiter(Options{}, func() (local, func()) {
		l.opened.Add(1)
		return l, func() { l.released.Add(1) }
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if o, r := l.opened.Load(), l.released.Load(); o != 1 || r != 1 {
		t.Errorf("opened %d and released %d times, want 1 and 1", o, r)
	}
	e := newEvent(t)
	if _, err := w.Add(e.FD(), SinkFunc[local](func(local, uint64) {})); err == nil {
		t.Error("Add on a closed waiter succeeded")
	}
}

func TestTimerFiresAfterItsDelayAndNotWhenDisarmed(t *testing.T) {
	w := newWaiter(t, Options{})
	tm, err := NewTimer()
	if err != nil {
		t.Fatal(err)
	}
	defer tm.Close()
	fired := make(chan time.Time, 4)
	s := add(t, w, tm.FD(), func(int, uint64) { fired <- time.Now() })
	defer s.Close()
	const delay = 5 * time.Millisecond
	start := time.Now()
	if err := tm.Arm(delay); err != nil {
		t.Fatal(err)
	}
	if at := <-fired; at.Sub(start) < delay {
		t.Errorf("fired after %v, want at least %v", at.Sub(start), delay)
	}
	if err := tm.Arm(time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := tm.Disarm(); err != nil {
		t.Fatal(err)
	}
	if err := tm.Arm(-time.Second); err != nil { // the past is now
		t.Fatal(err)
	}
	<-fired
	if len(fired) != 0 {
		t.Error("a disarmed timer fired")
	}
}

func TestNoDescriptorLeaks(t *testing.T) {
	count := func() int {
		m, err := filepath.Glob("/proc/self/fd/*")
		if err != nil {
			t.Fatal(err)
		}
		return len(m)
	}
	before := count()
	for range 20 {
		w := newWaiter(t, Options{})
		e, err := New()
		if err != nil {
			t.Fatal(err)
		}
		add(t, w, e.FD(), func(int, uint64) {})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != os.ErrClosed {
			t.Errorf("second Close: %v, want os.ErrClosed", err)
		}
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func BenchmarkWakeup(b *testing.B) {
	for _, o := range []struct {
		name string
		Options
	}{{"block", Options{}}, {"busy", Options{BusyPoll: time.Millisecond}}} {
		b.Run(o.name, func(b *testing.B) {
			w := newWaiter(b, o.Options)
			e := newEvent(b)
			var seen atomic.Uint64
			add(b, w, e.FD(), func(_ int, n uint64) { seen.Add(n) })
			b.ReportAllocs()
			for i := range b.N {
				_ = e.Signal()
				for seen.Load() <= uint64(i) {
				}
			}
		})
	}
}
