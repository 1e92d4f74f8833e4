// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"time"

	"xenvmm/vmm/kvm"
)

// kvmClock is what guestClock needs of a *kvm.VM.
type kvmClock interface {
	GetClock() (kvm.ClockData, error)
}

// guestClock is KVM's clock of the whole machine, from which it sets those of the
// vCPUs (vcpuClocks).
type guestClock struct {
	vm kvmClock
}

// Now is the guest's time in ns since the machine's start.
func (c guestClock) Now() uint64 {
	d, err := c.vm.GetClock()
	if err != nil {
		return 0 // the VM is closed: nobody looks at it any more
	}
	return d.Clock
}

// Wall is the wall time at guest time 0. The kernel reports both clocks of one
// instant since Linux 5.16; before that they are read one after the other.
func (c guestClock) Wall() (sec uint64, nsec uint32) {
	d, err := c.vm.GetClock()
	if err != nil {
		return 0, 0
	}
	wall := d.Realtime
	if d.Flags&kvm.ClockRealtime == 0 {
		wall = uint64(time.Now().UnixNano())
	}
	if wall < d.Clock {
		return 0, 0
	}
	wall -= d.Clock
	return wall / 1e9, uint32(wall % 1e9)
}
