// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/anishathalye/porcupine"
)

// What follows shows that the checks of histories can fail: wrong ways to
// deliver, each with one mistake, must be rejected.

// wordAccess is a Deliver made of single accesses of the product, each in a
// section of its own. With every step in it is correct.
type wordAccess struct {
	noSelector    bool
	noUpcall      bool
	upcallFirst   bool // before the selector
	ignoresMask   bool
	plainPending  bool // reads the word, then writes it
	forgetsRaise  bool // takes a stale vcpu_info for a raise that is done
	doubtsPending bool // reports an event as accepted that was pending already
}

func (w wordAccess) deliver(r *Reader, s *Signal) Result {
	bit := uint32(1) << s.Pending.Bit
	var old uint32
	var ok bool
	if w.plainPending {
		if old, ok = r.Load32(s.Shared, s.Pending.Off); ok {
			runtime.Gosched()
			ok = r.Store32(s.Shared, s.Pending.Off, old|bit)
		}
	} else {
		old, ok = r.Or32(s.Shared, s.Pending.Off, bit)
	}
	if !ok {
		return Stale
	}
	if old&bit != 0 && !w.doubtsPending {
		return Coalesced
	}
	if !w.ignoresMask {
		var mask uint32
		for {
			if mask, ok = r.Load32(s.Shared, s.Mask.Off); ok {
				break
			}
			_ = s.Shared.Refresh()
		}
		if mask>>s.Mask.Bit&1 != 0 {
			return Masked
		}
	}
	return w.finish(r, s, false)
}

// finish is the vCPU's part; force is that of Raise.
func (w wordAccess) finish(r *Reader, s *Signal, force bool) Result {
	stale := StaleVCPU
	if w.forgetsRaise {
		stale = Pending
	}
	upcallWas := uint8(1)
	ok := true
	if w.upcallFirst {
		if upcallWas, ok = r.Xchg8(s.VCPU, s.Upcall, 1); !ok {
			return stale
		}
		runtime.Gosched()
	}
	if !w.noSelector {
		sel, ok := r.Or32(s.VCPU, s.Sel.Off, 1<<s.Sel.Bit)
		if !ok {
			return stale
		}
		if sel>>s.Sel.Bit&1 != 0 && !w.upcallFirst && !force {
			return Pending
		}
	}
	if !w.upcallFirst && !w.noUpcall {
		// The selector is set, so this has to succeed.
		for {
			if upcallWas, ok = r.Xchg8(s.VCPU, s.Upcall, 1); ok {
				break
			}
			_ = s.VCPU.Refresh()
		}
	}
	if upcallWas == 0 {
		return Raised
	}
	return Pending
}

func (w wordAccess) subject() subject {
	raise := func(r *Reader, s *Signal) Result { return w.finish(r, s, true) }
	return subject{w.deliver, (*Reader).Unmask, (*Reader).Resume, raise}
}

// ignoresStale delivers to the page that it found first, whether or not it is
// still the guest's.
type ignoresStale struct{ page *hostPage }

func (i *ignoresStale) deliver(r *Reader, s *Signal) Result {
	res := r.Deliver(s)
	if res != Stale {
		return res
	}
	bit := uint32(1) << s.Pending.Bit
	if i.page.word(s.Pending.Off).Or(bit)&bit != 0 {
		return Coalesced
	}
	return r.Raise(s)
}

func TestWrongDeliveriesAreNotLinearizable(t *testing.T) {
	const enough = 20_000 // rounds; most take one
	for _, tt := range []struct {
		name string
		w    wordAccess
	}{
		{"no selector", wordAccess{noSelector: true}},
		{"no upcall", wordAccess{noUpcall: true}},
		{"upcall before selector", wordAccess{upcallFirst: true}},
		{"mask ignored", wordAccess{ignoresMask: true}},
		{"pending bit written plainly", wordAccess{plainPending: true}},
		{"owed raise forgotten", wordAccess{forgetsRaise: true}},
		{"accepted twice", wordAccess{doubtsPending: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, rejected := abiRounds(t, "srcu", enough, tt.w.subject(), map[Result]int{})
			if rejected == nil {
				t.Fatalf("not rejected in %d rounds", n)
			}
			t.Logf("rejected after %d rounds", n)
		})
	}
	for _, moved := range []bool{false, true} {
		t.Run(fmt.Sprintf("stale ignored, moved %v", moved), func(t *testing.T) {
			b := newLinearBench(t, "srcu")
			wrong := &ignoresStale{b.mem.page(1)}
			s := product()
			s.deliver = wrong.deliver
			c := &client{linearBench: b, subject: s, r: b.set.NewReader()}
			defer c.r.Close()
			must(b.set.InvalidateStart(1*pageSize, pageSize, true)) // it is stale in any case
			b.set.InvalidateEnd(1*pageSize, pageSize)
			if moved {
				b.move(1)
			}
			c.send(0)
			must(b.shared.Refresh())
			c.takePorts(3)
			if got := accepts(t, abiModel(), b.inspected(c.history)); got == moved {
				t.Fatalf("accepted %v:\n%s", got, describe(abiModel(), c.history))
			}
		})
	}
	t.Run("control", func(t *testing.T) {
		n, rejected := abiRounds(t, "srcu", linearRounds("control"), wordAccess{}.subject(), map[Result]int{})
		if rejected != nil {
			t.Fatalf("round %d of a correct delivery is rejected:\n%s", n, describe(abiModel(), rejected))
		}
	})
}

// Histories written by hand, each of one event too many or too few.
func TestTheModelsRejectWhatMustNotHappen(t *testing.T) {
	const p = 7
	send := func(was bool) portUse { return portUse{p, false, was} }
	take := func(was bool) portUse { return portUse{p, true, was} }
	for _, tt := range []struct {
		name string
		uses []portUse
		ok   bool
	}{
		{"sent and taken", []portUse{send(false), take(true), take(false)}, true},
		{"sent twice, taken once", []portUse{send(false), send(true), take(true)}, true},
		{"never seen", []portUse{send(false), take(false)}, false},
		{"seen twice", []portUse{send(false), take(true), take(true)}, false},
		{"seen and not sent", []portUse{take(true)}, false},
		{"coalesced with nothing", []portUse{send(true)}, false},
		{"accepted though one was pending", []portUse{send(false), send(false), take(true)}, false},
	} {
		var history []porcupine.Operation
		for i, use := range tt.uses {
			history = append(history, porcupine.Operation{Input: use, Call: int64(2 * i), Return: int64(2*i + 1)})
		}
		if got := accepts(t, portModel(), history); got != tt.ok {
			t.Errorf("%s: accepted %v", tt.name, got)
		}
	}
	deliver := func(res Result) []abiAccess {
		return append([]abiAccess{{op: setPending}, {op: testMask}}, raiseParts(res)...)
	}
	for _, tt := range []struct {
		name  string
		calls [][]abiAccess
		ok    bool
	}{
		{"raised", [][]abiAccess{deliver(Raised), {{op: inspect, was: 1, port: 3}}}, true},
		{"no selector", [][]abiAccess{deliver(Raised), {{op: inspect, was: 1, port: 2}}}, false},
		{"no upcall", [][]abiAccess{deliver(Raised), {{op: inspect, was: 1, port: 1}}}, false},
		{"pending lost", [][]abiAccess{deliver(Raised), {{op: inspect, port: 3}}}, false},
		{"owed and not paid", [][]abiAccess{{{op: setPending}, {op: testMask}}, {{op: inspect, was: 1}}}, false},
		{"raised though the upcall was pending", [][]abiAccess{deliver(Raised), {{op: takeSel, was: 1}}, {{op: takePending, was: 1, take: 1}}, deliver(Raised)}, false},
		{"pending though it was not", [][]abiAccess{deliver(Pending)}, false},
	} {
		c := client{linearBench: new(linearBench)}
		for i, call := range tt.calls {
			c.accesses(int64(i), call...)
			for k := range call {
				c.history[len(c.history)-1-k].Return = int64(i)
			}
		}
		if got := accepts(t, abiModel(), c.history); got != tt.ok {
			t.Errorf("%s: accepted %v", tt.name, got)
		}
	}
}
