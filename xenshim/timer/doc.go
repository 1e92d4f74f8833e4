// SPDX-License-Identifier: Apache-2.0

// Package timer implements the per-vCPU timers of the Xen ABI: the one-shot
// and the periodic timer of vcpu_op (public/vcpu.h) and set_timer_op
// (public/xen.h), which shares the one-shot timer. All of them end in
// VIRQ_TIMER; raising it is left to the caller.
//
// # Time
//
// Every time is in nanoseconds of guest system time, the clock a guest reads
// from its pvclock. The package asks a Clock for it and hands absolute
// deadlines of the same clock to an Alarm, so that conversion to host time
// happens in one place, and no two clocks are compared here.
//
// # Rules
//
//   - A deadline in the past is no error: the event is sent at once.
//   - A deadline that was replaced or stopped never fires: an alarm only says
//     "look", and what is due is decided under the vCPU's lock.
//   - Periodic ticks lie on the grid that starts where the timer was set. A
//     late alarm neither shifts the grid nor sends a burst: ticks that were
//     missed become one.
//
// # Concurrency
//
// Every method may be called from any goroutine. Each vCPU has a lock of its
// own, held while fire runs: for one vCPU fire never runs twice at a time, and
// none runs after a Stop or Reset has returned. Therefore fire must not call
// back into this package, and Alarm must not call Expired from within Arm or
// Disarm.
package timer
