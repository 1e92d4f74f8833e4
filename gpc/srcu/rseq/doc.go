// SPDX-License-Identifier: Apache-2.0

// Package rseq gives assembly functions Linux's restartable sequences: ranges of
// instructions that the kernel sends back to their start whenever it has taken
// the processor away from them (rseq(2), linux/rseq.h), and a Fence that has it
// do so for every thread of the process at once (membarrier(2)).
//
// # A range
//
// A range begins after a store of its Descriptor's address into the word of the
// thread's Area, and ends with exactly one instruction, the commit, whose effect
// happens or does not. If the thread is preempted, migrated, gets a signal or is
// fenced while its program counter is in the range, it goes on at the abort
// address, with all other registers as they were. So a range contains no call,
// no system call and no second commit, and what it loads it may use until its
// end only. Leaving it by a jump, without committing, is fine.
//
// The kernel trusts an abort address only if the four bytes before it are the
// Signature.
//
// # Threads
//
// The kernel knows one Area per thread. Programs linked with glibc 2.35 or newer
// find theirs registered already; Attach then uses that one, which is meant to
// be shared: each user arms it anew before each range. Otherwise Attach registers
// one of its own. Either way the caller is locked to its thread.
package rseq
