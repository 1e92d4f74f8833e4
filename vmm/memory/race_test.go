// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Readers and writers on every kind of access run against changes that really
// unmap what they use: a use after the munmap would crash the process. What is
// read is either the page's own mark or an error, never something else.
func TestAccessAgainstUnmap(t *testing.T) {
	fds, maps := openFDs(t), memfdMappings(t)
	m, err := New(Config{Size: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.NewPages("page", 1)
	if err != nil {
		t.Fatal(err)
	}
	const (
		ramMark, pageMark = 0x11111111, 0x22222222
		slotAt            = 0xd0000000
	)
	for off := uint64(0); off < PageSize; off += 4 {
		must(t, m.StoreUint32(at4k(ramFrame)+off, ramMark))
		must(t, p.StoreUint32(off, pageMark))
	}
	var (
		stop  atomic.Bool
		wg    sync.WaitGroup
		hits  atomic.Uint64
		fails atomic.Uint64
	)
	check := func(gpa uint64, w uint32, err error) {
		switch {
		case errors.Is(err, ErrNoMemory), errors.Is(err, ErrClosed):
			fails.Add(1)
		case err != nil:
			t.Errorf("at %#x: %v", gpa, err)
		case w != pageMark && w != ramMark && gpa < slotAt, gpa >= at4k(hole1) && w != pageMark:
			t.Errorf("at %#x: %#x", gpa, w)
		default:
			hits.Add(1)
		}
	}
	buf := func() []byte { return make([]byte, PageSize) }
	for i := range 6 {
		wg.Go(func() {
			b := buf()
			for !stop.Load() {
				for _, gpa := range []uint64{at4k(ramFrame), at4k(hole1), at4k(hole2)} {
					switch i % 3 {
					case 0:
						w, err := m.LoadUint32(gpa + 64)
						check(gpa, w, err)
					case 1:
						err := m.ReadAt(b, gpa)
						check(gpa, word(b), err)
					case 2:
						_, err := m.Resolve(gpa, PageSize)
						check(gpa, pageMark, err)
					}
				}
				_ = m.WriteAt(b[:8], slotAt+PageSize-4)
				_, _ = m.OrUint32(slotAt+PageSize, 1)
				_, _ = p.LoadUint32(0)
			}
		})
	}
	deadline := time.Now().Add(500 * time.Millisecond)
	rounds := 0
	for ; time.Now().Before(deadline); rounds++ {
		must(t, m.MapPage(p, 0, hole1))
		must(t, m.Rehome(hole1))
		must(t, m.MapPage(p, 0, hole2))
		must(t, m.MapPage(p, 0, ramFrame))
		must(t, m.Remap(at4k(ramFrame), PageSize))
		must(t, m.UnmapPage(p, 0))
		s, err := m.AddSlot("slot", slotAt, 2*PageSize, 0)
		must(t, err)
		must(t, s.Resize(PageSize))
		must(t, s.Resize(3*PageSize))
		must(t, s.Delete())
	}
	must(t, m.Close()) // under full load, too
	stop.Store(true)
	wg.Wait()
	t.Logf("%d rounds, %d accesses, %d found nothing", rounds, hits.Load(), fails.Load())
	if hits.Load() == 0 || rounds == 0 {
		t.Error("nothing happened")
	}
	if f, n := openFDs(t), memfdMappings(t); f != fds || n != maps {
		t.Errorf("descriptors %d -> %d, mappings %d -> %d", fds, f, maps, n)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// word is the first word of b if all words are the same, else something that
// never occurs.
func word(b []byte) uint32 {
	first := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
	for i := range b {
		if b[i] != b[i&3] {
			// A copy may see a move in the middle, between two marks.
			return 0x11111111
		}
	}
	return first
}

// Nothing is unmapped, and nobody told that a change is over, while an access
// that may use the old mapping is in progress.
func TestAChangeWaitsForAccessesInProgress(t *testing.T) {
	for name, change := range map[string]func(g *rig, p *Pages, s *Slot) error{
		"unmap":  func(g *rig, p *Pages, _ *Slot) error { return g.UnmapPage(p, 0) },
		"rehome": func(g *rig, _ *Pages, _ *Slot) error { return g.Rehome(hole1) },
		"delete": func(_ *rig, _ *Pages, s *Slot) error { return s.Delete() },
		"resize": func(_ *rig, _ *Pages, s *Slot) error { return s.Resize(PageSize) },
		"close":  func(g *rig, _ *Pages, _ *Slot) error { return g.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			g, p := overlayRig(t)
			g.must(g.MapPage(p, 0, hole1))
			s := g.addSlot("slot", 0xd0000000, 2*PageSize)
			e, v, err := g.enter()
			g.must(err)
			done := make(chan error, 1)
			go func() { done <- change(g, p, s) }()
			select {
			case err := <-done:
				t.Errorf("over before the access: %v", err)
			case <-time.After(20 * time.Millisecond):
				for _, gpa := range []uint64{at4k(hole1), 0xd0000000, 0xd0000000 + PageSize, 0} {
					if !copyChunkAt(v, make([]byte, 8), gpa, false) {
						t.Errorf("%#x is gone from an old view", gpa)
					}
				}
			}
			e.exit()
			if !t.Failed() {
				g.must(<-done)
			}
		})
	}
}

// Words are atomic against each other and against moves of what they lie in.
func TestCountingWhilePagesMove(t *testing.T) {
	m, err := New(Config{Size: 1 << 20})
	must(t, err)
	defer m.Close()
	p, err := m.NewPages("page", 1)
	must(t, err)
	const each = 3000
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range each {
				for {
					old, err := p.LoadUint32(0)
					if err != nil {
						t.Error(err)
						return
					}
					if ok, _ := p.CompareAndSwapUint32(0, old, old+1); ok {
						break
					}
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for moving := true; moving; {
		select {
		case <-done:
			moving = false
		default:
			must(t, m.MapPage(p, 0, ramFrame))
			must(t, m.MapPage(p, 0, hole1))
			must(t, m.Rehome(hole1))
		}
	}
	if n, _ := m.LoadUint32(at4k(hole1)); n != 2*each {
		t.Errorf("%d counted, want %d", n, 2*each)
	}
}

func TestTheReaderPoolGrowsAndEmpties(t *testing.T) {
	l := newLender()
	var held []*lent
	for range 3 * firstReaders {
		held = append(held, l.enter())
	}
	if n := len(*l.pool.Load()); n < 3*firstReaders || n > 4*firstReaders {
		t.Errorf("%d readers", n)
	}
	retired := make(chan struct{})
	go func() { l.retire(); close(retired) }()
	for _, e := range held {
		select {
		case <-retired:
			t.Fatal("retired under a section")
		default:
		}
		e.exit()
	}
	<-retired
	if l.enter() != nil {
		t.Error("a section began after retire")
	}
}
