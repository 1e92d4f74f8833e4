// SPDX-License-Identifier: Apache-2.0

// Package srcu is an atomic sleepable-RCU: many readers mark short sections in
// which they use a pointer, and an updater that has withdrawn the pointer
// waits until no section that could have seen it is still using it.
//
// # Algorithm
//
// Every reader owns one slot with a 64-bit counter, odd while the reader is
// inside a section. Entering is a locked exchange, which is also a full barrier
// (never MFENCE, which costs ten times as much).
//
// An updater first withdraws the pointer with an atomic store, then looks at
// every counter. All even: nobody is inside and the grace period is over
// (TrySynchronize). For each odd one it waits until the value changes, whatever
// it changes to: the section that was running has ended, and any later one was
// entered after the pointer was withdrawn. A 64-bit counter that only grows
// cannot come back to an old value, so there is no index to flip, no second
// scan, and no queue of updaters behind one another: any number of them scan
// and wait side by side.
//
// The wait spins for about 2 us. A section that lasts longer has been taken off
// its processor, and then it depends on the reader:
//
//   - One of NewReader leaves by an exchange and then tests its slot's waiter
//     word. The updater sleeps in a futex on that word. How long it sleeps is up
//     to the kernel's scheduler, that is, to the load of the machine.
//   - One of NewThreadReader has sections that are restartable: the kernel restarts
//     them when their thread loses the processor. If the updater sees that this has
//     happened (see witness.go), it is done. Otherwise it issues one
//     membarrier(PRIVATE_EXPEDITED_RSEQ), which interrupts the processors that run
//     this process and restarts what runs there, and is done, whatever the load.
//
// Where the kernel does not permit that, all readers are like those of NewReader;
// if it stops to permit it, updaters look at restartable sections from time to
// time, sleeping in between (see Wait).
//
// # Why restarting is enough
//
// A restartable section (see SlotSeq) uses the pointer only within ranges of
// package rseq. The argument has five parts, each of which the models in this
// package's tests break in turn:
//
//  1. A range loads the pointer after it has been armed, and uses nothing that
//     was loaded before. So a range that starts, or starts again, after the
//     pointer was withdrawn does not have it.
//  2. The last instruction of a range is its last use of the pointer. What runs
//     after it, or between ranges, has no pointer.
//  3. The membarrier comes after the withdrawal, and aborts every range that is
//     running on a processor; one that the kernel has descheduled it aborts when
//     that runs again. Both times the kernel's own barriers make the stores of the
//     aborted try visible before. So after the membarrier no range is left that
//     has loaded the pointer before.
//  4. The counter is still made odd by an exchange, and even only after the last
//     use: readers that are not inside cost an updater nothing but a look. The
//     store that makes it even need not be locked, because x86 delays no load or
//     store past a later store, and because nobody sleeps until it happens.
//  5. Sections of Enter and Exit are Go code, which cannot be restarted. Enter
//     makes the slot plain before the counter is odd and Exit restores it after
//     the counter is even, so an updater that has seen the counter odd and then
//     finds the slot restartable has seen a restartable section, or one that has
//     ended.
//
// An aborted section stays odd until its thread runs again, and every grace period
// in that time pays for a membarrier of its own: the updater cannot know whether
// the section has resumed and loaded the pointer that is current now.
//
// # Rules
//
//   - The pointer is published, withdrawn and loaded with sync/atomic, and it is
//     loaded inside the section.
//   - A Reader is used by one goroutine at a time, and one of NewThreadReader on
//     its thread only. Sections nest; only the outermost pair touches the counter.
//   - A goroutine never calls Synchronize inside a section, nor while holding a
//     lock that a section may want.
//   - Sections are short, and do not block, fault for long or call out. Enter
//     and Exit may be preempted by the Go scheduler between them; that is safe
//     but can hold a grace period up for a time slice, so hot users write the
//     whole section as one assembly function over Slot.
//   - Updaters stay preemptible by Go (a preempted reader must be able to run
//     again for the updater to finish), so Synchronize is never called with
//     preemption disabled.
//
// # Concurrency
//
// Domain's methods may be called from any goroutine. Slots live in chunks that
// are added and never moved or freed while the Domain lives; a slot that is
// handed to a new reader keeps its counter.
package srcu
