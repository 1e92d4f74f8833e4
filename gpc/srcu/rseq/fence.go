// SPDX-License-Identifier: Apache-2.0

package rseq

import "sync"

// Commands of membarrier(2), from linux/membarrier.h.
const (
	membarrierQuery        = 0
	membarrierRseq         = 1 << 7 // MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ
	membarrierRegisterRseq = 1 << 8 // MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ
)

// registration is the process's intent to fence. The kernel keeps it per address
// space and not per user, so it is one for the process here too.
var registration struct {
	once sync.Once
	err  error
}

// Prepare registers the process for Fence. The first call may take milliseconds,
// later ones nothing. Domains that never have a restartable reader never call it.
func Prepare() error {
	registration.once.Do(func() {
		if err := membarrier(membarrierRegisterRseq); err != nil {
			registration.err = &Error{"membarrier(REGISTER_PRIVATE_EXPEDITED_RSEQ)", err, permit}
		}
	})
	return registration.err
}

// Fence returns when every range that any thread of the process was inside at
// the call has been aborted or has ended. Threads that the kernel had taken off
// their processors are covered: they find themselves aborted when they run again.
// It is a full memory barrier for all of them. It interrupts the processors that
// run this process, which costs it some 2 to 40 us, does not sleep, and allocates
// nothing. Prepare comes first.
func Fence() error { return membarrier(membarrierRseq) }
