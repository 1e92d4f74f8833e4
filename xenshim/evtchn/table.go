// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// maxPorts is the size of the table: the ports of the widest ABI offered.
const maxPorts = abi.EvtchnPorts64

// Table is the event channels of one domain.
type Table struct {
	self   abi.DomID
	up     Upcaller
	wake   Waker
	log    *slog.Logger
	shared *gpc.Cache
	vcpus  []vcpu
	pirqs  []atomic.Uint32 // port bound to each pirq, 0 if none
	slots  []slot
	abi    atomic.Pointer[delivery]
	polls  pollers
	kept   kept

	mu       sync.Mutex // everything below, and every change of a slot
	r        *gpc.Reader
	used     [maxPorts / 64]uint64 // ports that are not free
	hosts    []*HostPort           // by the backend's own port number; [0] unused
	sharedAt uint64                // gpa of shared_info
	mapped   bool                  // shared_info is mapped
	touched  bool                  // shared_info has been mapped at some time
	retired  counts                // of host ports that are closed
}

// slot is one port, on a cache line of its own: senders on different ports share
// none.
type slot struct {
	entry atomic.Pointer[entry] // nil: closed
	count counters
	_     [32]byte
}

// vcpu is what the table keeps for one vCPU.
type vcpu struct {
	info       *gpc.Cache // its vcpu_info, wherever that is
	virq       [abi.NrVIRQs]atomic.Uint32
	poll       atomic.Uint32 // see pollers
	registered bool          // guarded by Table.mu: not in shared_info any more
}

// New returns a table with all ports closed, as for a 64-bit guest that has not
// mapped its shared_info yet.
func New(c Config) (*Table, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	t := &Table{
		self: c.Domain, up: c.Upcall, wake: c.Wake, log: c.Log,
		shared: c.Caches.NewCache("shared_info"),
		vcpus:  make([]vcpu, c.VCPUs),
		pirqs:  make([]atomic.Uint32, c.PIRQs),
		slots:  make([]slot, maxPorts),
		r:      c.Caches.NewReader(),
		hosts:  make([]*HostPort, 1),
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	for i := range t.vcpus {
		t.vcpus[i].info = c.Caches.NewCache(fmt.Sprintf("vcpu_info[%d]", i))
	}
	t.used[0] = 1 // port 0 is reserved
	t.useABI(newTwoLevel(t, abi.Width64))
	t.kept.start(t, c.Caches)
	return t, nil
}

// Close ends replaying and lets go of guest memory. Nothing else may be called
// from then on.
func (t *Table) Close() {
	t.kept.stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shared.Deactivate()
	for i := range t.vcpus {
		t.vcpus[i].info.Deactivate()
	}
	t.r.Close()
}

// current is the event ABI in use.
func (t *Table) current() delivery { return *t.abi.Load() }

// useABI makes d the event ABI of the domain and gives every open port an entry
// for it. Callers other than New hold mu.
func (t *Table) useABI(d delivery) {
	t.abi.Store(&d)
	for port := range uint32(maxPorts) {
		if e := t.slots[port].entry.Load(); e != nil {
			t.publish(port, *e)
		}
	}
}

// at returns the entry of a port that a guest named. ok is false for a number
// that is no port in the current ABI; e is nil for a closed one.
func (t *Table) at(port uint32) (e *entry, ok bool) {
	if port >= t.current().ports() {
		return nil, false
	}
	return t.slots[port].entry.Load(), true
}

// target tells whether dom is the calling domain, by number or as DOMID_SELF.
// Another one may not be touched: EPERM if it exists, which only the backend
// domain does, else ESRCH.
func (t *Table) target(dom abi.DomID) abi.Errno {
	switch dom {
	case abi.DomIDSelf, t.self:
		return abi.OK
	case abi.DomIDBackend:
		return abi.EPERM
	}
	return abi.ESRCH
}
