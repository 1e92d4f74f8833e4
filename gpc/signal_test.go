// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"runtime"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

func TestSignalResults(t *testing.T) {
	const port = 77
	const sharedGFN, vcpuGFN = 1, 2
	type state struct{ pending, mask, sel, upcall bool }
	deliver := func(r *Reader, s *Signal) Result { return r.Deliver(s) }
	unmask := func(r *Reader, s *Signal) Result { return r.Unmask(s) }
	resume := func(r *Reader, s *Signal) Result { return r.Resume(s) }
	raise := func(r *Reader, s *Signal) Result { return r.Raise(s) }
	for _, tt := range []struct {
		name                   string
		op                     func(*Reader, *Signal) Result
		staleShared, staleVCPU bool
		before                 state
		want                   Result
		after                  state
	}{
		{name: "deliver to an idle vCPU raises", op: deliver, want: Raised, after: state{pending: true, sel: true, upcall: true}},
		{name: "deliver while pending coalesces", op: deliver, before: state{pending: true}, want: Coalesced, after: state{pending: true}},
		{name: "deliver while pending and masked coalesces", op: deliver, before: state{pending: true, mask: true}, want: Coalesced, after: state{pending: true, mask: true}},
		{name: "deliver while masked stops at pending", op: deliver, before: state{mask: true}, want: Masked, after: state{pending: true, mask: true}},
		{name: "deliver with the selector set", op: deliver, before: state{sel: true}, want: Pending, after: state{pending: true, sel: true}},
		{name: "deliver with the upcall pending", op: deliver, before: state{upcall: true}, want: Pending, after: state{pending: true, sel: true, upcall: true}},
		{name: "deliver to stale shared info touches nothing", op: deliver, staleShared: true, want: Stale},
		{name: "deliver to stale vcpu_info owes a raise", op: deliver, staleVCPU: true, want: StaleVCPU, after: state{pending: true}},
		{name: "a coalesced event does not need vcpu_info", op: deliver, staleVCPU: true, before: state{pending: true}, want: Coalesced, after: state{pending: true}},
		{name: "a masked event does not need vcpu_info", op: deliver, staleVCPU: true, before: state{mask: true}, want: Masked, after: state{pending: true, mask: true}},
		{name: "unmask of a pending port raises", op: unmask, before: state{pending: true, mask: true}, want: Raised, after: state{pending: true, sel: true, upcall: true}},
		{name: "unmask of an idle port", op: unmask, before: state{mask: true}, want: NotPending},
		{name: "unmask of an unmasked pending port", op: unmask, before: state{pending: true}, want: NotPending, after: state{pending: true}},
		{name: "unmask with the selector set", op: unmask, before: state{pending: true, mask: true, sel: true}, want: Pending, after: state{pending: true, sel: true}},
		{name: "unmask with the upcall pending", op: unmask, before: state{pending: true, mask: true, upcall: true}, want: Pending, after: state{pending: true, sel: true, upcall: true}},
		{name: "unmask with stale shared info", op: unmask, staleShared: true, before: state{pending: true, mask: true}, want: Stale, after: state{pending: true, mask: true}},
		{name: "unmask with stale vcpu_info owes a raise", op: unmask, staleVCPU: true, before: state{pending: true, mask: true}, want: StaleVCPU, after: state{pending: true}},
		{name: "resume of a pending port raises", op: resume, before: state{pending: true}, want: Raised, after: state{pending: true, sel: true, upcall: true}},
		{name: "resume of a port that the guest has taken", op: resume, want: NotPending},
		{name: "resume of a masked port", op: resume, before: state{pending: true, mask: true}, want: Masked, after: state{pending: true, mask: true}},
		{name: "resume of a port that the guest has taken and masked", op: resume, before: state{mask: true}, want: NotPending, after: state{mask: true}},
		{name: "resume with the selector set", op: resume, before: state{pending: true, sel: true}, want: Pending, after: state{pending: true, sel: true}},
		{name: "resume with the upcall pending", op: resume, before: state{pending: true, upcall: true}, want: Pending, after: state{pending: true, sel: true, upcall: true}},
		{name: "resume with stale shared info", op: resume, staleShared: true, before: state{pending: true}, want: StalePort, after: state{pending: true}},
		{name: "resume with stale vcpu_info owes a raise", op: resume, staleVCPU: true, before: state{pending: true}, want: StaleVCPU, after: state{pending: true}},
		{name: "raise", op: raise, want: Raised, after: state{sel: true, upcall: true}},
		{name: "raise does not need shared info", op: raise, staleShared: true, want: Raised, after: state{sel: true, upcall: true}},
		{name: "raise with the selector set, by a signal that got no further perhaps", op: raise, before: state{sel: true}, want: Raised, after: state{sel: true, upcall: true}},
		{name: "raise with the upcall pending", op: raise, before: state{upcall: true}, want: Pending, after: state{sel: true, upcall: true}},
		{name: "raise with stale vcpu_info", op: raise, staleVCPU: true, want: StaleVCPU},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachReader(t, func(t *testing.T, guard string, reader func(*Set) *Reader) {
				m := newGuestMemory(t, sharedGFN, vcpuGFN)
				s, _ := newTestSet(t, m, guard)
				r := reader(s)
				defer r.Close()
				shared := activated(t, s, "shared_info", sharedGFN*pageSize, pageSize)
				v := activated(t, s, "vcpu_info", vcpuGFN*pageSize+64, 64)
				sig := portSignal(shared, v, port)
				bits := []struct {
					page *hostPage
					off  uint32
					bit  uint8
					get  func(*state) *bool
				}{
					{m.page(sharedGFN), sig.Pending.Off, sig.Pending.Bit, func(s *state) *bool { return &s.pending }},
					{m.page(sharedGFN), sig.Mask.Off, sig.Mask.Bit, func(s *state) *bool { return &s.mask }},
					{m.page(vcpuGFN), 64 + sig.Sel.Off, sig.Sel.Bit, func(s *state) *bool { return &s.sel }},
					{m.page(vcpuGFN), 64 + sig.Upcall, 0, func(s *state) *bool { return &s.upcall }},
				}
				for _, b := range bits {
					if *b.get(&tt.before) {
						b.page.word(b.off).Or(1 << b.bit)
					}
				}
				if tt.staleShared {
					must(s.InvalidateStart(sharedGFN*pageSize, pageSize, true))
				}
				if tt.staleVCPU {
					must(s.InvalidateStart(vcpuGFN*pageSize, pageSize, true))
				}
				if got := tt.op(r, sig); got != tt.want {
					t.Errorf("result %v, want %v", got, tt.want)
				}
				for _, b := range bits {
					want := uint32(0)
					if *b.get(&tt.after) {
						want = 1 << b.bit
					}
					if got := b.page.word(b.off).Load(); got != want {
						t.Errorf("word at %#x is %#x, want %#x", b.off, got, want)
					}
				}
			})
		})
	}
}

// A signal agrees with a model that is written without any of its machinery, for
// any port, layout and order of operations, including the guest's.
func TestSignalsAgreeWithAModel(t *testing.T) {
	eachReader(t, func(t *testing.T, guard string, reader func(*Set) *Reader) {
		m := newGuestMemory(t, 1, 2)
		s, _ := newTestSet(t, m, guard)
		r := reader(s)
		defer r.Close()
		shared := activated(t, s, "shared_info", 1*pageSize, pageSize)
		vcpu := activated(t, s, "vcpu_info", 2*pageSize, 64)
		rapid.Check(t, func(t *rapid.T) {
			m.page(1).zero()
			m.page(2).zero()
			type port struct{ pending, mask bool }
			ports := map[uint32]*port{}
			sel := map[uint32]bool{}
			upcall := false
			raise := func(p uint32) Result {
				if sel[p/64] {
					return Pending
				}
				sel[p/64] = true
				if upcall {
					return Pending
				}
				upcall = true
				return Raised
			}
			draw := func(t *rapid.T) (uint32, *port, *Signal) {
				p := rapid.SampledFrom([]uint32{0, 1, 31, 32, 63, 64, 2047, 2048, 4095}).Draw(t, "port")
				if ports[p] == nil {
					ports[p] = new(port)
				}
				return p, ports[p], portSignal(shared, vcpu, p)
			}
			check := func(t *rapid.T, got, want Result) {
				if got != want {
					t.Fatalf("%v, want %v", got, want)
				}
			}
			t.Repeat(map[string]func(*rapid.T){
				"deliver": func(t *rapid.T) {
					p, st, sig := draw(t)
					want := Coalesced
					if !st.pending {
						st.pending = true
						if want = Masked; !st.mask {
							want = raise(p)
						}
					}
					check(t, r.Deliver(sig), want)
				},
				"unmask": func(t *rapid.T) {
					p, st, sig := draw(t)
					want := NotPending
					if st.mask {
						st.mask = false
						if st.pending {
							want = raise(p)
						}
					}
					check(t, r.Unmask(sig), want)
				},
				"guest masks": func(t *rapid.T) {
					_, st, sig := draw(t)
					st.mask = true
					m.page(1).word(sig.Mask.Off).Or(1 << sig.Mask.Bit)
				},
				"guest takes a port": func(t *rapid.T) {
					_, st, sig := draw(t)
					was := m.page(1).word(sig.Pending.Off).And(^uint32(1<<sig.Pending.Bit))>>sig.Pending.Bit&1 != 0
					if was != st.pending {
						t.Fatalf("pending bit %v, want %v", was, st.pending)
					}
					st.pending = false
				},
				"guest takes the upcall": func(t *rapid.T) {
					old, ok := r.Xchg8(vcpu, 0, 0)
					if !ok || (old != 0) != upcall {
						t.Fatalf("upcall byte %d %v, want %v", old, ok, upcall)
					}
					upcall = false
					for w := range uint32(2) {
						bits := m.page(2).word(8 + 4*w).Swap(0)
						for b := range uint32(32) {
							if got := bits>>b&1 != 0; got != sel[w*32+b] {
								t.Fatalf("selector bit %d is %v", w*32+b, got)
							}
						}
					}
					clear(sel)
				},
			})
		})
	})
}

func TestEventsWrittenAreMarkedDirty(t *testing.T) {
	eachGuard(t, func(t *testing.T, guard string) {
		m := newGuestMemory(t, 1, 2)
		s, r := newTestSet(t, m, guard)
		shared := activated(t, s, "shared_info", 1*pageSize, pageSize)
		vcpu := activated(t, s, "vcpu_info", 2*pageSize, 64)
		sig := portSignal(shared, vcpu, 3)
		dirtied := func(what string, f func(), want1, want2 bool) {
			t.Helper()
			d1, d2 := m.dirty[1].Load(), m.dirty[2].Load()
			f()
			if got1, got2 := m.dirty[1].Load() > d1, m.dirty[2].Load() > d2; got1 != want1 || got2 != want2 {
				t.Errorf("%s: shared %v vcpu %v, want %v %v", what, got1, got2, want1, want2)
			}
		}
		dirtied("load", func() { r.Load32(shared, 0) }, false, false)
		dirtied("raised", func() { r.Deliver(sig) }, true, true)
		dirtied("coalesced", func() { r.Deliver(sig) }, false, false)
		dirtied("resume", func() { r.Resume(sig) }, false, true)
		dirtied("raise", func() { r.Raise(sig) }, false, true)
		dirtied("unmask", func() { r.Or32(shared, sig.Mask.Off, 1<<sig.Mask.Bit); r.Unmask(sig) }, true, true)
		dirtied("write", func() { r.WriteAt(vcpu, []byte{1}, 0) }, false, true)
		dirtied("a failed write", func() { r.WriteAt(vcpu, []byte{1}, 64) }, false, false)
		// A write whose mapping was withdrawn before the writer could mark it is
		// marked by the invalidation.
		dirtied("invalidation", func() { must(s.InvalidateStart(1*pageSize, 1, true)); s.InvalidateEnd(1*pageSize, 1) }, true, false)
		dirtied("deactivation", func() { vcpu.Deactivate() }, false, true)
	})
}

// trackedMemory says whether anybody wants to know of writes.
type trackedMemory struct {
	*guestMemory
	tracking atomic.Bool
}

func (m *trackedMemory) DirtyTracking() *atomic.Bool { return &m.tracking }

func TestWritesAreMarkedOnlyWhileSomebodyTracksThem(t *testing.T) {
	m := &trackedMemory{guestMemory: newGuestMemory(t, 1, 2)}
	s, err := NewSet(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := s.NewReader()
	defer r.Close()
	shared := activated(t, s, "shared_info", 1*pageSize, pageSize)
	vcpu := activated(t, s, "vcpu_info", 2*pageSize, 64)
	for i, tracking := range []bool{false, true, false, true} {
		m.tracking.Store(tracking)
		d1, d2 := m.dirty[1].Load(), m.dirty[2].Load()
		if res := r.Deliver(portSignal(shared, vcpu, uint32(3+64*i))); res == Stale || res == Coalesced {
			t.Fatal(res)
		}
		r.WriteAt(vcpu, []byte{0}, 0)
		if got1, got2 := m.dirty[1].Load() > d1, m.dirty[2].Load() > d2; got1 != tracking || got2 != tracking {
			t.Errorf("tracking %v: shared marked %v, vcpu marked %v", tracking, got1, got2)
		}
	}
}

// A Deliver that finds the cache stale tries for a while, and then leaves it to its
// caller, who may block.
func TestADeliverDoesNotWaitForACacheThatStaysStale(t *testing.T) {
	m := newGuestMemory(t, 1, 2)
	s, r := newTestSet(t, m, "srcu")
	shared := activated(t, s, "shared_info", 1*pageSize, pageSize)
	vcpu := activated(t, s, "vcpu_info", 2*pageSize, 64)
	sig := portSignal(shared, vcpu, 3)
	must(s.InvalidateStart(1*pageSize, pageSize, true))
	if res := r.Deliver(sig); res != Stale {
		t.Errorf("%v during an invalidation, want stale", res)
	}
	s.InvalidateEnd(1*pageSize, pageSize)
	done := make(chan Result)
	go func() {
		other := s.NewReader()
		defer other.Close()
		res := Stale
		for res == Stale { // whoever lingers needs nobody to tell it
			res = other.Deliver(sig)
			runtime.Gosched()
		}
		done <- res
	}()
	must(shared.Refresh())
	if res := <-done; res != Raised {
		t.Errorf("%v, want raised", res)
	}
	shared.Deactivate()
	if res := r.Deliver(sig); res != Stale {
		t.Errorf("%v through an inactive cache, want stale", res)
	}
}
