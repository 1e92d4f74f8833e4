// SPDX-License-Identifier: Apache-2.0

// Command probe is the init of a stock Linux guest under test. It looks at the
// machine from inside, prints what it found as one line of JSON, and powers off.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"xenvmm/tests/linux/report"
)

func main() {
	var r report.Report
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
	r.BootNS = now.Nano()
	for _, m := range []struct{ dir, fs string }{{"/proc", "proc"}, {"/sys", "sysfs"}, {"/dev", "devtmpfs"}} {
		_ = os.MkdirAll(m.dir, 0o755)
		if err := unix.Mount(m.fs, m.dir, m.fs, 0, ""); err != nil && err != unix.EBUSY {
			r.Failures = append(r.Failures, fmt.Sprintf("mount %s: %v", m.dir, err))
		}
	}
	look(&r)
	line, err := json.Marshal(r)
	fmt.Printf("%s%s %v\n", report.Prefix, line, err)
	fmt.Println("power off:", unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF))
}

func look(r *report.Report) {
	read := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			r.Failures = append(r.Failures, err.Error())
		}
		return strings.TrimSpace(string(b))
	}
	const hyp, clock = "/sys/hypervisor/", "/sys/devices/system/clocksource/clocksource0/"
	r.Release = read("/proc/sys/kernel/osrelease")
	r.CPUs = runtime.NumCPU()
	r.Hypervisor, r.GuestType, r.UUID = read(hyp+"type"), read(hyp+"guest_type"), read(hyp+"uuid")
	r.Version = read(hyp+"version/major") + "." + read(hyp+"version/minor") + read(hyp+"version/extra")
	r.Clocksource = read(clock + "current_clocksource")
	if f := strings.Fields(read("/proc/meminfo")); len(f) > 1 {
		r.MemoryKiB, _ = strconv.ParseUint(f[1], 10, 64)
	}
	start := time.Now()
	time.Sleep(report.SleepNS)
	r.SleptNS = int64(time.Since(start))
	for l := range strings.Lines(read("/proc/interrupts")) {
		f := strings.Fields(l)
		switch {
		case len(f) > r.CPUs && f[0] == "HYP:":
			for _, n := range f[1 : 1+r.CPUs] {
				count, _ := strconv.ParseUint(n, 10, 64)
				r.Upcalls = append(r.Upcalls, count)
			}
		case strings.Contains(l, " xen-"):
			r.Channels++
		}
	}
	log := make([]byte, 1<<20)
	n, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, log)
	if err != nil {
		r.Failures = append(r.Failures, "kernel log: "+err.Error())
		return
	}
	for l := range strings.Lines(string(log[:n])) {
		level, text, ok := strings.Cut(l, ">")
		if ok && len(level) == 2 && level[0] == '<' && level[1] <= '4' {
			if _, after, ok := strings.Cut(text, "] "); ok {
				text = after
			}
			r.Warnings = append(r.Warnings, strings.TrimSpace(text))
		}
	}
}
