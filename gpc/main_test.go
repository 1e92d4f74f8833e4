// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eachGuard runs f once per guard.
func eachGuard(t *testing.T, f func(t *testing.T, guard string)) {
	for _, g := range Guards() {
		t.Run(g, func(t *testing.T) { f(t, g) })
	}
}

// eachReader runs f once per guard and, for the one that makes a difference
// between them, kind of reader.
func eachReader(t *testing.T, f func(t *testing.T, guard string, reader func(*Set) *Reader)) {
	eachGuard(t, func(t *testing.T, guard string) { f(t, guard, (*Set).NewReader) })
	t.Run("srcu, thread reader", func(t *testing.T) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		f(t, "srcu", (*Set).NewThreadReader)
	})
}

func newTestSet(t testing.TB, m *guestMemory, guard string) (*Set, *Reader) {
	t.Helper()
	s, err := NewSet(m, Options{Guard: guard})
	if err != nil {
		t.Fatal(err)
	}
	r := s.NewReader()
	t.Cleanup(r.Close)
	return s, r
}

func activated(t testing.TB, s *Set, name string, gpa, n uint64) *Cache {
	t.Helper()
	c := s.NewCache(name)
	if err := c.Activate(gpa, n); err != nil {
		t.Fatal(err)
	}
	return c
}

// until yields until cond holds.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !cond(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("gave up waiting until %s", what)
		}
	}
}

// within fails the test if f takes longer than limit.
func within(t testing.TB, limit time.Duration, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("%s took longer than %v", what, limit)
	}
}

// portSignal is port number port in the 64-bit layout, with vcpu_info at the
// start of v.
func portSignal(shared, v *Cache, port uint32) *Signal {
	word, bit := port/32*4, uint8(port%32)
	return &Signal{
		Shared:  shared,
		Pending: Bit{0x800 + word, bit},
		Mask:    Bit{0xa00 + word, bit},
		VCPU:    v,
		Sel:     Bit{8 + port/64/32*4, uint8(port / 64 % 32)},
		Upcall:  0,
	}
}

// lag measures how long the machine keeps a goroutine waiting that wants to run
// every few milliseconds: what a deadline has to allow for that is no fault of
// what is tested.
func lag() (worst func() time.Duration, end func()) {
	var longest atomic.Int64
	stop := make(chan struct{})
	done := background(func() {
		const every = 5 * time.Millisecond
		tick := time.NewTicker(every)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			now := time.Now()
			longest.Store(max(longest.Load(), int64(now.Sub(last)-every)))
			last = now
		}
	})
	return func() time.Duration { return time.Duration(longest.Load()) }, func() { close(stop); <-done }
}
