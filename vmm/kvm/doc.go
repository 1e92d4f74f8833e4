// SPDX-License-Identifier: Apache-2.0

// Package kvm is a typed view of the Linux KVM API for x86-64 (linux/kvm.h,
// Documentation/virt/kvm/api.rst): System is /dev/kvm, VM one virtual machine,
// VCPU one virtual processor with its shared kvm_run page. Struct types and the
// ioctl number builders come from gokvm where those are right; what gokvm lacks
// or gets wrong is here, and a test compares every number, size and offset with
// the C headers.
//
// # Ownership
//
// A System, VM or VCPU owns its file descriptor (close-on-exec). Close is the
// only way to give it back; it is idempotent and safe against calls in progress
// on other goroutines: the descriptor is closed when the last of them returns,
// so that its number is never reused under a running call. An object that is
// dropped without Close leaks its descriptor; Options.OnLeak reports that (for
// tests), nothing repairs it.
//
// # Concurrency
//
// System and VM methods may be called from any goroutine. A VCPU belongs to one
// OS-locked thread at a time: KVM serialises vCPU ioctls by a mutex that KVM_RUN
// holds, so a call from elsewhere would block until the guest exits. The only
// VCPU method meant for other threads is SetImmediateExit. Views into the
// kvm_run page (Exit, RunRegs, RunSregs, RunEvents) are for the vCPU's own
// thread, between two calls of Run, and die with Close.
//
// # Errors
//
// Errors name the operation and its object and wrap the errno, so that
// errors.Is(err, unix.EBUSY) works. Run returns a bare unix.EINTR or
// unix.EAGAIN for the two outcomes that are not failures.
package kvm
