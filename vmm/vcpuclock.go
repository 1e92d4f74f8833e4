// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"math"
	"sync/atomic"
	"time"

	"xenvmm/xenshim/abi"
)

// vcpuClocks are the vCPUs' clocks as they see them. A guest sets a timer for a
// time that it reads from the pvclock of the vCPU it runs on; a timer that rings
// before that very clock shows it is set again by the guest, and again. KVM's
// clock of the machine (KVM_GET_CLOCK) is not that clock: without a trusted TSC
// each vCPU's runs by itself from the last time KVM has set it, and with a scaled
// one the two drift apart.
//
// So whenever a vCPU makes a call about timers, its thread reads its pvclock and
// its TSC, and keeps how far that is from this host's monotonic clock. Everybody
// reads the latter from then on, which costs no system call, and on which the
// host's timers run as well.
type vcpuClocks struct {
	machine guestClock // for vCPUs that have not been looked at
	times   *systemTimes
	memory  guestReader
	epoch   time.Time
	cpus    []vcpuClock
}

// guestReader is what vcpuClocks needs of a *memory.Memory.
type guestReader interface {
	ReadAt(p []byte, gpa uint64) error
}

type vcpuClock struct {
	ahead atomic.Int64 // of the monotonic clock, if known
	known atomic.Bool
	page  [pvclockSize]byte // of the vCPU's thread
	_     [64]byte
}

func newVCPUClocks(machine guestClock, times *systemTimes, memory guestReader) *vcpuClocks {
	return &vcpuClocks{machine: machine, times: times, memory: memory, epoch: time.Now(), cpus: make([]vcpuClock, len(times.cpus))}
}

// setsTimers tells whether a hypercall is of those that depend on the time. To
// yield or block is not, and is too frequent to be asked for nothing.
func setsTimers(nr uint64, cmd uint32) bool {
	switch nr {
	case abi.HypercallMulticall, abi.HypercallSetTimerOp, abi.HypercallVCPUOp:
		return true
	case abi.HypercallSchedOp:
		return cmd == abi.SchedopPoll
	}
	return false
}

// monotonic is the host's CLOCK_MONOTONIC since an arbitrary moment, in ns.
func (c *vcpuClocks) monotonic() int64 { return int64(time.Since(c.epoch)) }

// Now is what a vCPU's pvclock shows, in ns, or a little less. Any thread may
// ask.
func (c *vcpuClocks) Now(v int) uint64 {
	k := &c.cpus[v]
	if !k.known.Load() {
		return min(c.machine.Now(), maxGuestTime)
	}
	return uint64(min(max(c.monotonic()+k.ahead.Load(), 0), int64(maxGuestTime)))
}

// Until is how long it is until a vCPU's clock shows deadline; zero if it is
// past.
func (c *vcpuClocks) Until(v int, deadline uint64) time.Duration {
	now := c.Now(v)
	if deadline <= now {
		return 0
	}
	// A timer further away than this is armed again when it rings.
	const far = 24 * time.Hour
	return time.Duration(min(deadline-now, uint64(far)))
}

// readClock reads a vCPU's TSC, and where KVM keeps its pvclock (kvm.VCPU.Clock).
type readClock func() (tsc, systemTime uint64, err error)

// look reads vCPU v's pvclock with its TSC, on its thread. Where it has none yet,
// all stays as it is. An INIT, of which nobody here learns if the vCPU was waiting
// for it in the kernel, makes KVM forget the pvclock; then it is set anew.
func (c *vcpuClocks) look(v int, read readClock) {
	k, area := &c.cpus[v], &c.times.cpus[v]
	at := area.value.Load()
	if at == 0 || area.changed.Load() || c.memory.ReadAt(k.page[:], at&^1) != nil {
		return
	}
	clock, ok := parsePVClock(&k.page)
	// A thread that was preempted between the two clocks takes the later one to
	// be much too late, and tries again.
	const good, tries = 20_000, 4 // ns
	best := int64(math.MaxInt64)
	for range tries {
		before := c.monotonic()
		ticks, kept, err := read()
		after := c.monotonic()
		if err == nil && kept != at {
			c.times.again(v)
		}
		if err != nil || kept != at || !ok {
			return
		}
		if after-before < best {
			best = after - before
			// Late rather than early: the counter was read before after.
			k.ahead.Store(int64(clock.at(ticks)) - after)
			k.known.Store(true)
		}
		if best <= good {
			return
		}
	}
}
