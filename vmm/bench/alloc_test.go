//go:build !race

// SPDX-License-Identifier: Apache-2.0

// The race detector allocates on its own account, so the claim is only checked
// without it.

package bench

import (
	"runtime"
	"testing"
	"time"

	"xenvmm/gpc"
)

func TestMeasuredLoopsAllocateNothing(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m, err := newMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	nothing := func(what string, f func()) {
		t.Helper()
		if n := testing.AllocsPerRun(200, f); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
	for _, g := range gpc.BenchGuards() {
		e := &deliveryRun{mem: m}
		for _, form := range []string{FormInline, FormEarly, FormBatch, FormEventFD} {
			row := deliveryRow{form, LayoutShared, 1, g}
			d, err := e.domain(row)
			if err != nil {
				t.Fatal(err)
			}
			l, dl, release, err := e.load(d, row, 0)
			if err != nil {
				t.Fatal(err)
			}
			nothing(g+", "+form, func() { l.run(3) })
			release()
			dl.r.Close()
		}
		d, err := newDomain(m, g, []uint64{sharedAt(0)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		l := &readLoad{r: d.set.NewThreadReader(), c: d.shared[0]}
		nothing(g+", read", func() { l.run(3) })
		l.r.Close()
		u := &updater{set: d.set, cache: d.shared[0], gpa: sharedAt(0), n: pageSize}
		nothing(g+", drain", func() {
			u.drain()
			u.set.InvalidateEnd(u.gpa, u.n)
		})
	}
	var u usage
	var d durations
	nothing("usage", u.take)
	nothing("durations", func() { d.add(time.Second) })
}
