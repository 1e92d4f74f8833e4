// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	domain   = 7
	sharedPg = 0       // the page that is shared_info
	sharedAt = 0x10000 // its gfn is 16
	ramPg    = 1       // a page at gfn 0x20
	ramAt    = 0x20000
	holeAt   = 0x50000 // no memory
)

// harness is what a rig needs of a test, a benchmark, a fuzzer or a property.
type harness interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Cleanup(f func())
}

// rig is a table with a guest around it.
type rig struct {
	*Table
	t   harness
	mem *memory
	r   *gpc.Reader

	upcalls []atomic.Int64
	woken   []atomic.Int64
	onUp    func(vcpu int)
	onWake  func(vcpu int)
}

func (g *rig) Upcall(vcpu int) {
	g.upcalls[vcpu].Add(1)
	if g.onUp != nil {
		g.onUp(vcpu)
	}
}

func (g *rig) WakePoller(vcpu int) {
	g.woken[vcpu].Add(1)
	if g.onWake != nil {
		g.onWake(vcpu)
	}
}

type option func(*Config, *gpc.Options)

func withPIRQs(n int) option       { return func(c *Config, _ *gpc.Options) { c.PIRQs = n } }
func withGuard(name string) option { return func(_ *Config, o *gpc.Options) { o.Guard = name } }

// newBareRig has memory but no shared_info mapped.
func newBareRig(t harness, vcpus int, opts ...option) *rig {
	g := &rig{t: t, mem: newMemory(t, 8), upcalls: make([]atomic.Int64, vcpus), woken: make([]atomic.Int64, vcpus)}
	c := Config{VCPUs: vcpus, Domain: domain, Upcall: g, Wake: g}
	var o gpc.Options
	for _, f := range opts {
		f(&c, &o)
	}
	set, err := gpc.NewSet(g.mem, o)
	if err != nil {
		t.Fatal(err)
	}
	g.mem.set, c.Caches = set, set
	g.mem.change(sharedAt/pageSize, sharedPg)
	g.mem.change(ramAt/pageSize, ramPg)
	if g.Table, err = New(c); err != nil {
		t.Fatal(err)
	}
	g.r = set.NewReader()
	t.Cleanup(func() {
		g.r.Close()
		g.Table.Close()
	})
	return g
}

// newRig has a 64-bit guest with shared_info mapped.
func newRig(t harness, vcpus int, opts ...option) *rig {
	g := newBareRig(t, vcpus, opts...)
	if err := g.MapSharedInfo(sharedAt, abi.Width64); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *rig) layout() abi.SharedInfoLayout { return abi.Layout(g.Width()) }

func (g *rig) isPending(port uint32) bool {
	return g.mem.bit(sharedPg, g.layout().EvtchnPending, port)
}
func (g *rig) isMasked(port uint32) bool { return g.mem.bit(sharedPg, g.layout().EvtchnMask, port) }
func (g *rig) mask(port uint32)          { g.mem.orBit(sharedPg, g.layout().EvtchnMask, port) }
func (g *rig) takePending(port uint32) bool {
	return g.mem.andBit(sharedPg, g.layout().EvtchnPending, port)
}

// upcall and sel of a vCPU whose vcpu_info is in shared_info.
func (g *rig) upcall(vcpu int) bool { return g.mem.bit(sharedPg, uint32(vcpu)*64, 0) }
func (g *rig) sel(vcpu int, port uint32) bool {
	return g.mem.bit(sharedPg, uint32(vcpu)*64+g.layout().VCPUPendingSel, port/g.layout().Width.Bits())
}

// ack clears what a guest clears of a vCPU when it handles an upcall.
func (g *rig) ack(vcpu int) {
	g.mem.andBit(sharedPg, uint32(vcpu)*64, 0)
	for off := uint32(4); off < 16; off += 4 {
		g.mem.word(sharedPg, uint32(vcpu)*64+off).Store(0)
	}
}

// await fails the test if what must come does not.
func await(t harness, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(30 * time.Second):
		t.Fatalf("%s: did not come", what)
	}
}

// want fails the test unless got is as expected.
func want[T comparable](t harness, what string, got, expected T) {
	t.Helper()
	if got != expected {
		t.Fatalf("%s: got %v, want %v", what, got, expected)
	}
}

// ok takes the port of an operation that must succeed.
func (g *rig) ok(port uint32, e abi.Errno) uint32 {
	g.t.Helper()
	if e != abi.OK {
		g.t.Fatalf("unexpected %v", e)
	}
	return port
}

func (g *rig) host(notify func()) *HostPort {
	g.t.Helper()
	h, err := g.BindHost(notify)
	if err != nil {
		g.t.Fatal(err)
	}
	return h
}
