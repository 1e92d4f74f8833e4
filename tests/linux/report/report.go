// SPDX-License-Identifier: Apache-2.0

// Package report is what a stock Linux guest under test tells about the machine
// it finds itself on.
package report

// Prefix starts the line of the guest's console that holds the report as JSON.
const Prefix = "XENVMM-REPORT "

// Report is the machine seen from inside, at the end of the boot.
type Report struct {
	Release     string   // of the kernel
	CPUs        int      // online
	MemoryKiB   uint64   // MemTotal of /proc/meminfo
	Hypervisor  string   // /sys/hypervisor/type
	Version     string   // /sys/hypervisor/version, major.minor.extra
	GuestType   string   // /sys/hypervisor/guest_type
	UUID        string   // /sys/hypervisor/uuid
	Clocksource string   // the current one
	Upcalls     []uint64 // the row HYP of /proc/interrupts, one for each CPU
	Channels    int      // rows of /proc/interrupts that are event channels
	SleptNS     int64    // how long a sleep of SleepNS took
	BootNS      int64    // CLOCK_BOOTTIME when init began
	Warnings    []string // of the kernel's log: level warning and worse
	Failures    []string // what could not be found out
}

// SleepNS is how long the guest sleeps to see whether its timers work.
const SleepNS = 50_000_000
