// SPDX-License-Identifier: Apache-2.0

// Package vmm assembles and runs a virtual machine: a Xen-aware x86-64 guest on
// KVM, with all of Xen in user space.
//
//	m, err := vmm.New(vmm.Config{Kernel: image, CPUs: 2, Console: vmm.Stream{Out: os.Stdout}})
//	if err != nil { … }          // *ConfigError, *HostError, or the step that failed
//	defer m.Close()
//	if err := m.Start(); err != nil { … }
//	status := m.Wait(ctx)        // how it ended, where, with its last console lines
//
// # Host events
//
// With Config.HostEvents the guest gets that many event channels that are
// connected to eventfds of the host. A write to HostEvent.FD, from this process
// or another, or HostEvent.Signal, sends the event. "{ports}" in the command
// line becomes the first port and their number.
//
// # Rules
//
//   - Errors name the thing, the value and what to do.
//   - A guest cannot make this package panic, block or grow: what it says is
//     logged at debug level at most, and of its output the last lines are kept.
//   - Close may be called at any time after New, and gives back every
//     descriptor, mapping and thread. Nothing else may be called after it.
//   - Host code that changes guest memory goes through Machine.Memory, whose
//     changes invalidate what event delivery has cached.
//
// The parts are in packages below this one; docs/architecture.md shows how they
// fit.
package vmm
