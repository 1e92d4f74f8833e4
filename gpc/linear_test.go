// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// rounds runs n rounds of a script: clients that all begin at once, on memory
// that moves under them. check sees the joint history of each round, after all
// is quiet, and ends the rounds by returning false.
func (b *linearBench) rounds(n int, s subject, clients int, script func(c *client, rnd *rand.Rand), check func(history []porcupine.Operation) bool) (done int) {
	var round, running atomic.Int64
	var over atomic.Bool
	var wg sync.WaitGroup
	all := make([]*client, clients)
	for i := range all {
		c := &client{linearBench: b, subject: s, id: i}
		all[i] = c
		wg.Go(func() {
			if i%2 == 0 {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				c.r = b.set.NewThreadReader()
			} else {
				c.r = b.set.NewReader()
			}
			defer c.r.Close()
			rnd := rand.New(rand.NewPCG(1, uint64(i)))
			for mine := int64(1); ; mine++ {
				for round.Load() < mine {
					if over.Load() {
						return
					}
					runtime.Gosched()
				}
				script(c, rnd)
				running.Add(-1)
			}
		})
	}
	defer wg.Wait()
	defer over.Store(true)
	for ; done < n; done++ {
		b.clear()
		for _, c := range all {
			c.history = nil
		}
		running.Store(int64(clients))
		round.Add(1)
		for before := b.done.Load(); running.Load() > 0; runtime.Gosched() {
			// As often as clients get something done, so that they do.
			if now := b.done.Load(); now != before {
				before = now
				b.move(1 + uint64(now%2))
			}
		}
		var history []porcupine.Operation
		for _, c := range all {
			history = append(history, c.history...)
		}
		if !check(history) {
			return done + 1
		}
	}
	return done
}

// accepts reports whether the model explains the history. A history that takes
// too long is a mistake in its making.
func accepts(t testing.TB, m porcupine.Model, history []porcupine.Operation) bool {
	t.Helper()
	res := porcupine.CheckOperationsTimeout(m, history, 20*time.Second)
	if res == porcupine.Unknown {
		t.Fatalf("a history of %d operations takes too long to check", len(history))
	}
	return res == porcupine.Ok
}

// abiScript is what the clients of an ABI history do: two send, one is the guest,
// and one masks and unmasks.
func abiScript(c *client, rnd *rand.Rand) {
	for range 4 {
		port := uint8(rnd.IntN(abiPorts))
		switch c.id {
		case 0:
			c.handleUpcall()
		case 1:
			c.maskPort(port)
			c.linger(rnd.IntN(4))
			c.unmaskPort(port)
		default:
			c.send(port)
		}
	}
}

// inspected adds a look at everything to a history that is over.
func (b *linearBench) inspected(history []porcupine.Operation) []porcupine.Operation {
	shared, info := b.mem.page(1), b.mem.page(2)
	a := &abiAccess{op: inspect,
		was:  portBits(shared.word(0x800 + linearWord).Load()),
		take: portBits(shared.word(0xa00 + linearWord).Load()),
		port: uint8(info.word(8).Load()>>1&1) | uint8(info.word(0).Load()&1)<<1,
	}
	now := b.now()
	return append(history, porcupine.Operation{ClientId: abiClients - 1, Input: a, Call: now, Return: now})
}

// abiRounds returns the number of rounds until the model rejects one, and that
// history; all rounds and nil if it rejects none. Results are counted in seen.
func abiRounds(t testing.TB, guard string, n int, s subject, seen map[Result]int) (int, []porcupine.Operation) {
	b := newLinearBench(t, guard)
	var rejected []porcupine.Operation
	done := b.rounds(n, s, 4, abiScript, func(history []porcupine.Operation) bool {
		for _, op := range history {
			if a := op.Input.(*abiAccess); a.last && a.res != Stale { // it is Stale of the guest's accesses
				seen[a.res]++
			}
		}
		history = b.inspected(history)
		if !accepts(t, abiModel(), history) {
			rejected = history
		}
		return rejected == nil
	})
	return done, rejected
}

// portRounds is the same for histories of sends and takes alone.
func portRounds(t testing.TB, guard string, n int, s subject) (int, []porcupine.Operation) {
	b := newLinearBench(t, guard)
	var rejected []porcupine.Operation
	done := b.rounds(n, s, 3, portScript, func(history []porcupine.Operation) bool {
		word := b.mem.page(1).word(0x800 + linearWord).Load()
		now := b.now()
		for _, p := range linearPorts { // what was sent and not taken is still there
			history = append(history, porcupine.Operation{ClientId: abiClients - 1, Call: now, Return: now,
				Input: portUse{p, true, word>>(p%32)&1 != 0}})
		}
		if !accepts(t, portModel(), history) {
			rejected = history
		}
		return rejected == nil
	})
	return done, rejected
}

// portScript has two clients that send and one that takes.
func portScript(c *client, rnd *rand.Rand) {
	for range 20 {
		i := rnd.IntN(abiPorts)
		sig := c.signals[i]
		if c.id != 0 {
			var res Result
			call := c.access(c.shared, func() bool { res = c.deliver(c.r, sig); return res != Stale })
			c.record(call, portUse{linearPorts[i], false, res == Coalesced})
			continue
		}
		var word uint32
		call := c.access(c.shared, func() (ok bool) { word, ok = c.r.Xchg32(c.shared, 0x800+linearWord, 0); return ok })
		for _, p := range linearPorts {
			c.record(call, portUse{p, true, word>>(p%32)&1 != 0})
		}
	}
}

func describe(m porcupine.Model, history []porcupine.Operation) (text string) {
	for _, op := range history {
		text += fmt.Sprintf("client %d [%d, %d] ", op.ClientId, op.Call, op.Return)
		if m.DescribeOperation != nil {
			text += m.DescribeOperation(op.Input, op.Output)
		} else {
			text += fmt.Sprintf("%+v", op.Input)
		}
		text += "\n"
	}
	return text
}

func linearRounds(guard string) int {
	if testing.Short() || guard != Guards()[0] {
		return 150
	}
	return 1000
}

// Deliver, Unmask, Raise and the guest's own accesses, while the pages they lie
// in move, have an order in which each finds what the one before has left, and
// in the end nothing is pending for which no upcall is.
func TestDeliveryIsLinearizable(t *testing.T) {
	eachGuard(t, func(t *testing.T, guard string) {
		seen := map[Result]int{}
		n, rejected := abiRounds(t, guard, linearRounds(guard), product(), seen)
		if rejected != nil {
			t.Fatalf("round %d has no order:\n%s", n, describe(abiModel(), rejected))
		}
		t.Logf("%d histories, results %v", n, seen)
		for _, res := range []Result{Coalesced, Masked, Pending, Raised, NotPending} {
			if seen[res] == 0 {
				t.Errorf("no %v in any history", res)
			}
		}
		if seen[StaleVCPU]+seen[StalePort] == 0 {
			t.Error("memory never moved in the middle of a call")
		}
	})
}

// An event is accepted if and only if none is pending, and then seen exactly
// once, while its page moves.
func TestAnAcceptedEventIsSeenExactlyOnce(t *testing.T) {
	eachGuard(t, func(t *testing.T, guard string) {
		n, rejected := portRounds(t, guard, linearRounds(guard), product())
		if rejected != nil {
			t.Fatalf("round %d has no order:\n%s", n, describe(portModel(), rejected))
		}
	})
}
