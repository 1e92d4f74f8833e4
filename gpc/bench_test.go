// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// quietMemory does not count what is marked dirty: a counter that all threads
// share would be all that is measured.
type quietMemory struct{ *guestMemory }

func (quietMemory) MarkDirty(gpa, n uint64) {}

// BenchmarkDeliver is the full path, in the layout in which each thread has its
// own vCPU and its own word of pending bits: every delivery raises the upcall
// and the guest takes it.
func BenchmarkDeliver(b *testing.B) {
	run := func(name, guard string, reader func(*Set) *Reader) {
		b.Run(name, func(b *testing.B) {
			m := newGuestMemory(b, 1, 2)
			s, err := NewSet(quietMemory{m}, Options{Guard: guard})
			if err != nil {
				b.Fatal(err)
			}
			shared := activated(b, s, "shared_info", 1*pageSize, pageSize)
			var threads atomic.Uint32
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				id := threads.Add(1) % 32
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				r := reader(s)
				defer r.Close()
				vcpu := s.NewCache("vcpu_info")
				must(vcpu.Activate(2*pageSize+uint64(id)*64, 64))
				defer vcpu.Deactivate()
				sig := &Signal{shared, Bit{id * 64, 3}, Bit{2048 + id*64, 3}, vcpu, Bit{8, 0}, 0}
				pending := m.page(1).word(sig.Pending.Off)
				upcall, sel := m.page(2).word(id*64), m.page(2).word(id*64+8)
				for pb.Next() {
					if r.Deliver(sig) != Raised {
						b.Error("not raised")
						return
					}
					upcall.Store(0)
					sel.Store(0)
					pending.Store(0)
				}
			})
		})
	}
	run("srcu, thread reader", "srcu", (*Set).NewThreadReader)
	for _, guard := range BenchGuards() {
		run(guard, guard, (*Set).NewReader)
	}
}

// BenchmarkInvalidate is a transaction that hits one cache, with no reader
// inside and the cache valid each time.
func BenchmarkInvalidate(b *testing.B) {
	for _, guard := range Guards() {
		b.Run(guard, func(b *testing.B) {
			m := newGuestMemory(b, 1)
			s, _ := newTestSet(b, m, guard)
			c := activated(b, s, "c", 1*pageSize, pageSize)
			b.ReportAllocs()
			for b.Loop() {
				must(s.InvalidateStart(1*pageSize, pageSize, true))
				s.InvalidateEnd(1*pageSize, pageSize)
			}
			_ = c.Refresh()
			st := s.Stats()
			b.ReportMetric(float64(st.Drain.P50), "drain-p50-ns")
			b.ReportMetric(float64(st.Drain.P99), "drain-p99-ns")
		})
	}
	b.Run("elsewhere, 512 caches", func(b *testing.B) {
		m := newGuestMemory(b, 1)
		s, _ := newTestSet(b, m, "srcu")
		for i := range uint64(512) {
			activated(b, s, "c", 1*pageSize+i%64*64, 64)
		}
		b.ReportAllocs()
		for b.Loop() {
			must(s.InvalidateStart(9*pageSize, 1<<30, true))
			s.InvalidateEnd(9*pageSize, 1<<30)
		}
	})
}

func BenchmarkRefresh(b *testing.B) {
	m := newGuestMemory(b, 1)
	s, _ := newTestSet(b, m, "srcu")
	c := activated(b, s, "c", 1*pageSize, pageSize)
	b.Run("valid", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			must(c.Refresh())
		}
	})
	b.Run("after an invalidation", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			must(s.InvalidateStart(1*pageSize, pageSize, true))
			s.InvalidateEnd(1*pageSize, pageSize)
			must(c.Refresh())
		}
	})
}
