// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"runtime"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// Gfns and pages of a storm. Whatever stands at a gfn that shared_info has left
// is ordinary memory of the guest, which nobody may write to.
const (
	placeA  = sharedAt / pageSize
	placeB  = 0x90
	strayPg = 2
	infoPg  = 3 // vcpu_infos that were registered
	infoGFN = 0x40
)

// chaos is what happens to memory while events are sent.
var chaos = map[string]func(u *guest, at *uint64){
	"rehome shared_info": func(u *guest, at *uint64) { u.mem.rehome(*at) },
	"rehome vcpu_info":   func(u *guest, _ *uint64) { u.mem.rehome(infoGFN) },
	"shared_info away and back": func(u *guest, at *uint64) {
		u.mem.change(*at, -1)
		runtime.Gosched()
		u.mem.change(*at, sharedPg)
	},
	"vcpu_info away and back": func(u *guest, _ *uint64) {
		u.mem.change(infoGFN, -1)
		runtime.Gosched()
		u.mem.change(infoGFN, infoPg)
	},
	"move shared_info": func(u *guest, at *uint64) {
		next := placeA + placeB - *at
		u.UnmapSharedInfo()
		u.mem.change(*at, strayPg)
		u.mem.change(next, sharedPg)
		*at = next
		if err := u.MapSharedInfo(next*pageSize, abi.Width64); err != nil {
			u.t.Fatal(err)
		}
	},
	"rest": func(*guest, *uint64) { runtime.Gosched() },
}

type stormPlan struct {
	guard    string
	vcpus    int
	hosts    int
	rounds   int
	rebinds  int
	register bool
	chaos    []string
}

func drawStorm(t *rapid.T) stormPlan {
	names := make([]string, 0, len(chaos))
	for _, n := range []string{"rehome shared_info", "rehome vcpu_info", "shared_info away and back", "vcpu_info away and back", "move shared_info", "rest"} {
		if chaos[n] == nil {
			t.Fatalf("no %q", n)
		}
		names = append(names, n)
	}
	return stormPlan{
		guard:    rapid.SampledFrom(gpc.Guards()).Draw(t, "guard"),
		vcpus:    rapid.IntRange(1, 4).Draw(t, "vcpus"),
		hosts:    rapid.IntRange(1, 70).Draw(t, "hosts"),
		rounds:   rapid.IntRange(20, 200).Draw(t, "rounds"),
		rebinds:  rapid.IntRange(0, 100).Draw(t, "rebinds"),
		register: rapid.Bool().Draw(t, "register"),
		chaos:    rapid.SliceOfN(rapid.SampledFrom(names), 0, 40).Draw(t, "chaos"),
	}
}

// runStorm sends from several threads while memory comes and goes, ports move
// between vCPUs and vcpu_infos move to memory of their own.
func runStorm(t harness, s stormPlan) {
	g := newRig(t, s.vcpus, withGuard(s.guard))
	g.mem.change(infoGFN, infoPg)
	u := newGuest(g)
	for range s.hosts {
		h := g.host(nil)
		u.add(h.Port(), h, 0)
	}
	for v := range s.vcpus {
		u.add(g.ok(g.BindIPI(uint32(v))), nil, v)
	}
	u.start()

	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			r := g.mem.set.NewReader()
			defer r.Close()
			for n := range s.rounds {
				for j := range u.ports {
					u.send(r, u.ports[(j*(i+1)+n)%len(u.ports)])
				}
			}
		})
	}
	wg.Go(func() {
		r := g.mem.set.NewReader()
		defer r.Close()
		for n := range s.rebinds {
			u.rebind(r, u.ports[n%len(u.ports)], n%s.vcpus)
			if s.register && n == s.rebinds/2 {
				u.registerAll(r)
			}
		}
		if s.register && s.rebinds == 0 {
			u.registerAll(r)
		}
	})
	at := uint64(placeA)
	wg.Go(func() {
		for _, name := range s.chaos {
			chaos[name](u, &at)
		}
	})
	wg.Wait()
	for g.Stats().Waiting { // memory is back: every replay gets on
		g.kept.replay()
	}
	u.stop()

	for i, p := range u.ports {
		d := u.delivered(p)
		if g.isPending(p.port) {
			t.Fatalf("port %d (%d of %d): pending and nobody looks; sent %d, delivered %d, taken %d",
				p.port, i, len(u.ports), p.sent.Load(), d, p.taken.Load())
		}
		if d != p.taken.Load() {
			t.Fatalf("port %d: delivered %d, taken %d", p.port, d, p.taken.Load())
		}
		if p.seen.Load() != p.sent.Load() {
			t.Fatalf("port %d: last event seen is %d of %d", p.port, p.seen.Load(), p.sent.Load())
		}
	}
	for i, b := range g.mem.bytes(strayPg) {
		if b != 0 {
			t.Fatalf("byte %#x of memory that shared_info had left was written", i)
		}
	}
	want(t, "pollers", g.polls.n.Load(), 0)
}

// registerAll gives each vCPU a vcpu_info of its own. In a guest the vCPU does
// so itself; here another thread does, as Linux for a vCPU that is offline, and
// then lets it look where it looked before as well.
func (u *guest) registerAll(r *gpc.Reader) {
	for v := range u.where {
		e := u.RegisterVCPUInfo(r, v, infoGFN*pageSize+uint64(v)*64)
		if e != abi.OK { // its memory was away at that moment
			want(u.t, "register", e, abi.EINVAL)
			continue
		}
		u.where[v].set(infoPg, uint32(v)*64)
		// An upcall that came before this line was handled at the old place.
		u.onUp(v)
	}
}

func TestStormLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { runStorm(t, drawStorm(t)) })
}

// The same, long enough for the rarer interleavings.
func TestLongStormLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second or two; run without -short")
	}
	s := stormPlan{vcpus: 4, hosts: 100, rounds: 400, rebinds: 4000, register: true}
	for range 60 {
		s.chaos = append(s.chaos, "rehome shared_info", "move shared_info", "vcpu_info away and back", "shared_info away and back", "rehome vcpu_info")
	}
	for _, s.guard = range gpc.Guards() {
		t.Run(s.guard, func(t *testing.T) { runStorm(t, s) })
	}
}
