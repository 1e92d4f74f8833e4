// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The frames of the torture.
const (
	frameShared = 1 // shared_info
	frameVCPUs  = 2 // three vcpu_infos in one page
	frameVCPU   = 3 // one, at the end of its page, and the frame a vCPU uses itself
	frameData   = 4
	frameJuggle = 5 // and the next one: what the juggled caches move between
	framePlain  = 7 // changed without transactions, when nothing stands for it
	rackFrames  = 8
)

const (
	vcpuSize    = 64
	stampInVCPU = 56 // a word the guest's protocol leaves alone
	stampInPage = 0xff0
	guestArea   = 0x100 // of frameVCPU
)

var (
	stampOffsets = []uint32{stampInPage, 0x40 + stampInVCPU, 0x80 + stampInVCPU, 0xc0 + stampInVCPU, 0xfc0 + stampInVCPU}
	vcpuPlaces   = []uint64{frameVCPUs*pageSize + 0x40, frameVCPUs*pageSize + 0x80, frameVCPU*pageSize + 0xfc0, frameVCPUs*pageSize + 0xc0}
)

// A rig is everything that one child tortures.
type rig struct {
	tallySheet
	run    tortureRun
	mem    *rack
	set    *Set
	shared *Cache
	vcpus  []*rigVCPU
	data   *Cache
	// The juggled caches come, go and move, and so do the events sent to them.
	juggled       [2]*Cache
	juggledSignal *Signal
	common        [4]*rigPort // raised by all readers
	own           [][]*rigPort
	solo          *rigPort // all that its vCPU ever gets: no other event makes up for one that is lost
	threads       threadRegistry

	calm     atomic.Bool // no more stalls
	still    atomic.Bool // memory does not change any more
	settling atomic.Bool // nothing new is sent; what is under way arrives
	settled  atomic.Bool

	mu      sync.Mutex
	skipped map[string]string
}

func newRig(run tortureRun) *rig {
	mem := newRack()
	s, err := NewSet(mem, Options{Guard: run.Guard})
	must(err)
	g := &rig{run: run, mem: mem, set: s, skipped: map[string]string{}}
	cache := func(name string, gpa, n uint64) *Cache {
		c := s.NewCache(name)
		must(c.Activate(gpa, n))
		return c
	}
	g.shared = cache("shared_info", frameShared*pageSize, pageSize)
	g.data = cache("data", frameData*pageSize, pageSize)
	for i, place := range vcpuPlaces {
		g.vcpus = append(g.vcpus, &rigVCPU{info: cache(fmt.Sprintf("vcpu_info %d", i), place, vcpuSize)})
	}
	g.juggled = [2]*Cache{s.NewCache("juggled shared_info"), s.NewCache("juggled vcpu_info")}
	g.juggledSignal = &Signal{g.juggled[0], Bit{0x800, 0}, Bit{0xa00, 0}, g.juggled[1], Bit{8, 0}, 0}
	g.allotPorts()
	return g
}

func (g *rig) rand(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(g.run.Seed, stream)) }

func (g *rig) skip(what string, why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.skipped[what] = why.Error()
}

// spawn runs f in n goroutines that end when the flag is set.
func spawn(wg *sync.WaitGroup, n int, f func(i int)) {
	for i := range n {
		wg.Go(func() { f(i) })
	}
}

func TestTortureStallsChild(t *testing.T) {
	g := newRig(tortureRunOfChild(t))
	// Enough for all, so that the kernel and not Go decides who runs: it is not
	// kept from taking a thread off in the middle of a section.
	ready := g.run.Readers + g.run.Updaters + 8
	runtime.GOMAXPROCS(ready)
	var readers, memory, stalls sync.WaitGroup
	if g.run.Seed%2 == 0 { // the readers that do the work are not in the first slots
		for range 20 {
			defer g.set.NewReader().Close()
		}
	}
	spawn(&readers, g.run.Readers, g.reader)
	spawn(&memory, g.run.Updaters, g.updater)
	spawn(&memory, 1, func(int) { g.juggler() })
	spawn(&memory, 1, func(int) { g.timers() })
	spawn(&memory, 1, func(int) { g.guestMode() })
	spawn(&memory, 2, g.churn)
	g.stalls(&stalls, ready)

	time.Sleep(g.run.Length)
	g.calm.Store(true)
	g.threads.each(usualPriority) // or they would be the last to end
	join("stalls", &stalls)
	runtime.GOMAXPROCS(ready)
	g.still.Store(true)
	join("memory", &memory)
	g.settling.Store(true)
	g.settle()
	g.settled.Store(true)
	join("readers", &readers)
	if s := slots(g.set); s != nil && !s.TrySynchronize() {
		fatal("a section is left open")
	}
	g.report()
	fmt.Println("SURVIVED")
}

// join waits for the end of all goroutines of a kind.
func join(what string, wg *sync.WaitGroup) {
	select {
	case <-background(wg.Wait):
	case <-time.After(30 * time.Second):
		fatal("%s: no end after 30 s", what)
	}
}

// settle waits until every event that was accepted has been taken, once.
func (g *rig) settle() {
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(100 * time.Microsecond) {
		left := g.unsettled()
		if left == "" {
			return
		}
		if time.Now().After(deadline) {
			fatal("EVENT LOST OR DOUBLED: %s", left)
		}
	}
}

func (g *rig) unsettled() string {
	for _, p := range g.ports() {
		if sent, taken := p.sent.Load(), p.taken.Load(); sent != taken || p.busy.Load() {
			return fmt.Sprintf("port %d: %d accepted, %d taken", p.number, sent, taken)
		}
	}
	for i, v := range g.vcpus {
		if raised, taken := v.raised.Load(), v.upcalls.Load(); raised != taken {
			return fmt.Sprintf("vCPU %d: upcall raised %d times, taken %d times", i, raised, taken)
		}
	}
	return ""
}

func (g *rig) report() {
	st := g.set.Stats()
	g.tallySheet[tFast].Store(int64(st.FastPath))
	g.tallySheet[tSlow].Store(int64(st.SlowPath))
	g.tallySheet[tRefreshes].Store(int64(st.Refreshes))
	if g.tallySheet[tRefused].Load() != int64(st.WouldBlock) {
		fatal("%d refusals counted, %d seen", st.WouldBlock, g.tallySheet[tRefused].Load())
	}
	out := summary{Counts: map[string]int64{}, Skipped: g.skipped, Slowest: float64(st.Drain.Max) / 1e3}
	if d := slots(g.set); d != nil {
		out.Wait = d.Mode()
	}
	for i := range g.tallySheet {
		out.Counts[tallyNames[i]] = g.tallySheet[i].Load()
	}
	out.print()
}

// fatal ends the child with what every goroutine is doing.
func fatal(format string, args ...any) {
	fmt.Printf("TORTURE FAILED: "+format+"\n", args...)
	debug.SetTraceback("all")
	buf := make([]byte, 1<<20)
	os.Stdout.Write(buf[:runtime.Stack(buf, true)])
	os.Exit(4)
}
