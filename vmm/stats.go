// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"time"

	"xenvmm/gpc"
	"xenvmm/vmm/memory"
	"xenvmm/xenshim/evtchn"
)

// Latency is a distribution of times.
type Latency struct {
	Count int64         `json:"count"`
	P50   time.Duration `json:"p50_ns"`
	P99   time.Duration `json:"p99_ns"`
	P999  time.Duration `json:"p999_ns"`
	Max   time.Duration `json:"max_ns"`
}

// Stats are a machine's counts. They may be taken at any time, and are not of
// one instant while it runs.
type Stats struct {
	Caches   gpc.Stats
	Events   evtchn.Stats
	Delivery Latency // of HostEvent.Signal: until the bits are set in guest memory
	Changes  uint64  // KVM memslot changes
	// Intercepted is how many hypercalls came to this program because KVM
	// intercepted them (TrapKVM), and not by a hypercall page that leaves the guest.
	Intercepted uint64
}

// Stats takes the counts.
func (m *Machine) Stats() Stats {
	s := Stats{
		Caches: m.caches.Stats(), Events: m.domain.Events().Stats(),
		Delivery: m.deliveryLatency(), Changes: m.memory.Changes(),
	}
	for i := range m.scratch {
		s.Intercepted += m.scratch[i].intercepts.Load()
	}
	return s
}

func (m *Machine) deliveryLatency() Latency {
	m.mu.Lock()
	deliveries := m.deliveries
	m.mu.Unlock()
	all := newHistogram()
	for _, d := range deliveries {
		d.mu.Lock()
		all.Merge(d.latency)
		d.mu.Unlock()
	}
	at := func(q float64) time.Duration { return time.Duration(all.ValueAtQuantile(q)) }
	return Latency{Count: all.TotalCount(), P50: at(50), P99: at(99), P999: at(99.9), Max: time.Duration(all.Max())}
}

// Memory is the guest's memory, for host code that changes or reads it.
func (m *Machine) Memory() *memory.Memory { return m.memory }

// EventFrames are the guest frames that event delivery writes to now.
func (m *Machine) EventFrames() []uint64 { return m.domain.EventFrames() }

// RingFrames are the guest frames of the xenstore and console rings.
func (m *Machine) RingFrames() []uint64 { return m.domain.RingFrames() }
