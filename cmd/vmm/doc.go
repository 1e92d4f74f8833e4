// SPDX-License-Identifier: Apache-2.0

// Command vmm runs Xen-aware guests on KVM, with all of Xen in user space.
//
//	vmm run                 the embedded guest: event storm while memslots change
//	vmm run KERNEL          any PVH kernel
//	vmm bench               what delivering, invalidating and reading cost, by guard
//	vmm doctor              what this host can do, what is missing, what to do
//	vmm inspect KERNEL      what a kernel file is and how it would be started
//	vmm lab exec -- PROG    run a program on a KVM host inside an emulator
//
// There is one file per verb. Flags and the configuration file are lowered into
// one vmm.Config; everything else is the library's. Guest output goes to
// standard output, logs and errors to standard error. The exit codes are in
// exit.go and docs/exit-codes.md.
package main
