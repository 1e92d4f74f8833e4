// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"slices"
	"testing"
)

func TestGuardsThatKeepNothingApartAreForTheBenchOnly(t *testing.T) {
	safe, all := Guards(), BenchGuards()
	if safe[0] != "srcu" {
		t.Errorf("the default is %s", safe[0])
	}
	for _, g := range safe {
		if !slices.Contains(all, g) {
			t.Errorf("%s is not in the bench", g)
		}
	}
	for _, g := range all {
		waits := func() bool {
			m := newGuestMemory(t, 1)
			s, err := NewSet(m, Options{Guard: g})
			if err != nil {
				t.Fatal(err)
			}
			c := activated(t, s, "c", 1*pageSize, pageSize)
			if _, ok := s.guard.(noGuard); ok {
				return s.InvalidateStart(1*pageSize, 1, false) != nil
			}
			defer inside(s, c)()
			return s.InvalidateStart(1*pageSize, 1, false) == ErrWouldBlock
		}()
		if waits != slices.Contains(safe, g) {
			t.Errorf("guard %s: an invalidation waits for a reader: %v; listed as safe: %v", g, waits, !waits)
		}
	}
}

// Which guards report that they found no reader inside without waiting.
func TestFastPathIsReportedByTheGuardsThatHaveOne(t *testing.T) {
	without := []string{"srcu-notry", "srcu-flip"}
	eachGuard(t, func(t *testing.T, guard string) {
		m := newGuestMemory(t, 1)
		s, _ := newTestSet(t, m, guard)
		c := activated(t, s, "c", 1*pageSize, pageSize)
		for range 10 {
			must(s.InvalidateStart(1*pageSize, 1, true))
			s.InvalidateEnd(1*pageSize, 1)
			must(c.Refresh())
		}
		want := uint64(10)
		if slices.Contains(without, guard) {
			want = 0
		}
		if st := s.Stats(); st.FastPath != want || st.SlowPath != 10-want {
			t.Errorf("%+v, want %d on the fast path", st, want)
		}
	})
}
