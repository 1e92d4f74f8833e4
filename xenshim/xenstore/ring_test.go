// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"fmt"
	"math/rand"
	"runtime"
	"strings"
	"sync"
	"testing"

	"xenvmm/xenshim/abi"
)

func TestRingServesRequests(t *testing.T) {
	g := newGuest(t, Quotas{})
	defer g.r.Close()
	if f := g.load(abi.XenstoreFeatures); f != 7 {
		t.Errorf("features %#x", f)
	}
	if got := g.call(abi.XSIsDomainIntroduced, nul("1")); got != nul("T") {
		t.Errorf("introduced: %q", got)
	}
	big := strings.Repeat("x", 2000)
	for i := range 20 { // wraps the ring many times
		if got := g.call(abi.XSWrite, nul("data/x")+big+fmt.Sprint(i)); got != ok {
			t.Fatal(got)
		}
		if got := g.call(abi.XSRead, nul("data/x")); got != big+fmt.Sprint(i) {
			t.Fatal("value differs")
		}
	}
	if got := g.call(abi.XSRead, nul("none")); got != "!ENOENT\x00" {
		t.Errorf("%q", got)
	}
	// The longest request: 4096 bytes of payload.
	if got := g.call(abi.XSRead, strings.Repeat("x", 4095)+"\x00"); got != "!EINVAL\x00" {
		t.Errorf("%q", got)
	}
	g.send(message(abi.XSResetWatches, 1, 0, "")) // no payload at all
	if h, p := g.message(); h.typ != abi.XSResetWatches || p != ok {
		t.Errorf("%+v %q", h, p)
	}
}

func TestRequestsSplitAndMerged(t *testing.T) {
	g := newGuest(t, Quotas{})
	defer g.r.Close()
	var stream []byte
	for i := range uint32(200) {
		stream = append(stream, message(abi.XSWrite, i, 0, nul("data/x")+strings.Repeat("v", int(i)))...)
	}
	var feeder sync.WaitGroup
	feeder.Go(func() {
		rnd := rand.New(rand.NewSource(2))
		for len(stream) > 0 {
			n := g.put(stream[:min(len(stream), 1+rnd.Intn(40))])
			stream = stream[n:]
			g.r.Kick()
			if n == 0 {
				runtime.Gosched()
			}
		}
	})
	for i := range uint32(200) {
		if h, p := g.message(); h.reqID != i || h.typ != abi.XSWrite || p != ok {
			t.Fatalf("reply %d: %+v %q", i, h, p)
		}
	}
	feeder.Wait()
}

func TestHostChangesReachTheGuest(t *testing.T) {
	g := newGuest(t, Quotas{})
	defer g.r.Close()
	if got := g.call(abi.XSWatch, nul("data", "tok")); got != ok {
		t.Fatal(got)
	}
	if h, p := g.message(); h.typ != abi.XSWatchEvent || p != nul("data", "tok") {
		t.Fatalf("%+v %q", h, p)
	}
	if err := g.s.Write("/local/domain/1/data/new", "x"); err != nil {
		t.Fatal(err)
	}
	// No kick from the guest: the change alone must bring the event.
	if h, p := g.message(); h.typ != abi.XSWatchEvent || p != nul("data/new", "tok") {
		t.Fatalf("%+v %q", h, p)
	}
}

func TestNoEventWithoutWork(t *testing.T) {
	g := newGuest(t, Quotas{})
	defer g.r.Close()
	g.settle()
	before := g.events.Load()
	for range 1000 {
		g.r.Kick()
	}
	g.settle()
	if n := g.events.Load(); n != before {
		t.Errorf("%d events for nothing", n-before)
	}
}

// XSA-326: a guest that never takes replies isn't read from after a while, and
// costs no memory; what it asked is answered in order when it does.
func TestGuestThatDoesNotTakeReplies(t *testing.T) {
	g := newGuest(t, Quotas{})
	defer g.r.Close()
	if err := g.s.Write("/local/domain/1/name", strings.Repeat("n", 4000)); err != nil {
		t.Fatal(err)
	}
	const total = 100_000
	request := func(i uint32) []byte { return message(abi.XSRead, i, 0, nul("name")) }
	size := len(request(0))
	sent, rest := uint32(0), []byte(nil)
	push := func() {
		for sent < total || len(rest) > 0 {
			if len(rest) == 0 {
				rest = request(sent)
				sent++
			}
			n := g.put(rest)
			if rest = rest[n:]; n == 0 {
				return
			}
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 1000 {
		push()
		g.r.Kick()
	}
	g.settle()
	push()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
		t.Errorf("heap grew by %d bytes", grown)
	}
	// Taken: the outstanding ones, one or two partly sent, what the ring holds.
	if limit := uint32(20 + 2 + ringSize/size + 1); sent > limit {
		t.Errorf("server took %d requests, at most %d expected", sent, limit)
	}
	want := strings.Repeat("n", 4000)
	for i := range uint32(2000) { // drain: in order, nothing lost
		push()
		g.r.Kick()
		if h, p := g.message(); h.reqID != i || p != want {
			t.Fatalf("reply %d: %+v of %d bytes", i, h, len(p))
		}
	}
}

func TestCloseIsPromptWithABusyGuest(t *testing.T) {
	g := newGuest(t, Quotas{})
	stop := make(chan struct{})
	var busy sync.WaitGroup
	busy.Go(func() {
		req := message(abi.XSGetDomainPath, 1, 0, nul("1"))
		for {
			select {
			case <-stop:
				return
			default:
				g.put(req[:]) // whole or not, it is traffic
				g.get(1024)
				g.r.Kick()
			}
		}
	})
	<-g.irq
	g.r.Close()
	g.r.Close()
	close(stop)
	busy.Wait()
	if n := len(g.s.conns); n != 0 {
		t.Errorf("%d connections left", n)
	}
}

func TestRingIsTakenOver(t *testing.T) {
	g := newGuest(t, Quotas{})
	for i := range 3 {
		if got := g.call(abi.XSWrite, nul("data/x")+"v"); got != ok {
			t.Fatal(got)
		}
		g.r.Close()
		g.put(message(abi.XSRead, 77, 0, nul("data/x"))) // while nobody serves
		g.connect()
		if h, p := g.message(); h.reqID != 77 || p != "v" {
			t.Fatalf("%d: %+v %q", i, h, p)
		}
	}
	g.r.Close()
}

func TestConcurrentGuestAndHost(t *testing.T) {
	g := newGuest(t, Quotas{})
	var host sync.WaitGroup
	for i := range 2 {
		host.Go(func() {
			for n := range 200 {
				path := fmt.Sprint("/local/domain/1/data/host", i)
				if err := g.s.Write(path, fmt.Sprint(n)); err != nil {
					t.Error(err)
				}
				if _, err := g.s.Directory("/local/domain/1/data"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	if got := g.call(abi.XSWatch, nul("data", "t")); got != ok {
		t.Fatal(got)
	}
	for i := range 200 {
		if got := g.call(abi.XSWrite, nul("data/guest")+fmt.Sprint(i)); got != ok {
			t.Fatal(got)
		}
		if got := g.call(abi.XSRead, nul("data/guest")); got != fmt.Sprint(i) {
			t.Fatal(got)
		}
	}
	host.Wait()
	g.r.Close()
}

func BenchmarkRead(b *testing.B) {
	g := newGuest(b, Quotas{})
	for b.Loop() {
		g.call(abi.XSRead, nul("data"))
	}
	g.r.Close()
}

// eagerPage is the page of a guest that always has another request in the ring
// and takes replies at once, without signalling.
type eagerPage struct {
	*guest
	request []byte
}

func (p eagerPage) ReadAt(b []byte, off uint32) error  { return p.page.ReadAt(b, off) }
func (p eagerPage) WriteAt(b []byte, off uint32) error { return p.page.WriteAt(b, off) }
func (p eagerPage) Store32(off, v uint32) error        { return p.page.Store32(off, v) }

func (p eagerPage) Load32(off uint32) (uint32, error) {
	switch off {
	case abi.XenstoreReqProd:
		if p.load(abi.XenstoreReqProd) == p.load(abi.XenstoreReqCons) {
			p.put(p.request)
		}
	case abi.XenstoreRspCons:
		p.get(ringSize)
	}
	return p.page.Load32(off)
}

func TestServingIsBoundedAndGoesOn(t *testing.T) {
	g := newGuest(t, Quotas{})
	g.r.Close() // its goroutine is gone: serve is called here
	g.r.page = eagerPage{g, message(abi.XSRead, 1, 0, nul("data"))}
	select {
	case <-g.r.kick:
	default:
	}
	before := g.events.Load()
	g.r.serve() // returns although there is always more to do
	if len(g.r.kick) != 1 {
		t.Error("no further turn was asked for")
	}
	if n := g.events.Load() - before; n != 1 {
		t.Errorf("%d events for one turn", n)
	}
}
