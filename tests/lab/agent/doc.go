// SPDX-License-Identifier: Apache-2.0

// Package agent is the init of a lab host: process 1 of the machine that runs
// KVM tests. It mounts the kernel's file systems, loads modules, opens the
// control channel and runs the programs it is sent.
//
// Each program gets a root directory of its own (chroot) with just the files
// that came for it and fresh /proc, /sys, /dev and /tmp, and a control group,
// so that everything it started ends with it. Programs run as root.
//
// Any program can be the init: call Main first thing in main when IsInit says
// so. The machine powers off when the channel ends, so a host whose starter
// died doesn't stay.
//
// Concurrency: calls are served one after the other, programs run side by side.
package agent
