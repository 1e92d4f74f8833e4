// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// usage is what the kernel has accounted to the calling thread.
type usage struct {
	cpu         time.Duration // processor time
	involuntary int64         // context switches while it wanted to run
	voluntary   int64         // context switches because it slept
	at          time.Time
	ru          unix.Rusage
	ts          unix.Timespec
}

// take reads the counters, in two system calls of some 100 ns, without
// allocating. The processor time of getrusage(2) is not exact enough. The caller
// stays on its thread between two of them. Where a call fails, which the kernel
// gives no reason for, nothing seems to have been disturbed.
func (u *usage) take() {
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &u.ru)
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &u.ts)
	u.involuntary, u.voluntary = u.ru.Nivcsw, u.ru.Nvcsw
	u.cpu = time.Duration(u.ts.Nano())
	u.at = time.Now()
}

// missingShare and missingLeast say how much less processor time than time a
// thread that did not sleep may get before it counts as stopped.
const (
	missingShare = 0.1
	missingLeast = 10 * time.Microsecond
)

// disturbed reports whether the thread was kept from running between two takes:
// another thread took its processor, or it got much less processor time than
// went by although it did not sleep, which is what a hypervisor does.
func disturbed(before, after *usage) bool {
	if after.involuntary != before.involuntary {
		return true
	}
	wall := after.at.Sub(before.at)
	missing := wall - (after.cpu - before.cpu)
	return after.voluntary == before.voluntary && missing > missingLeast && float64(missing) > missingShare*float64(wall)
}

// machineTime is how the processors of the machine were used since it started,
// in ticks of all of them together.
type machineTime struct {
	busy, steal, all uint64
	own              time.Duration // of this process
}

const ticksPerSecond = 100 // USER_HZ, the same on every Linux

func readMachineTime() (machineTime, bool) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return machineTime{}, false
	}
	m, ok := parseMachineTime(string(b))
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &ru) == nil {
		m.own = time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	}
	return m, ok
}

// parseMachineTime reads the first line of /proc/stat (proc(5)): user nice
// system idle iowait irq softirq steal.
func parseMachineTime(stat string) (m machineTime, ok bool) {
	line, _, _ := strings.Cut(stat, "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return m, false
	}
	for i, s := range f[1:9] {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return m, false
		}
		m.all += v
		switch i {
		case 3, 4: // idle, waiting for I/O
		case 7:
			m.steal += v
		default:
			m.busy += v
		}
	}
	return m, true
}

// taken is what of the machine went elsewhere between two readings.
func taken(from, to machineTime) (steal, foreign float64) {
	all := float64(to.all - from.all)
	if all == 0 {
		return 0, 0
	}
	own := (to.own - from.own).Seconds() * ticksPerSecond
	return float64(to.steal-from.steal) / all, max(float64(to.busy-from.busy)-own, 0) / all
}
