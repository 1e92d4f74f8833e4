// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bufio"
	"bytes"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func environment() Env {
	return Env{
		Date:       time.Now().UTC().Truncate(time.Second),
		CPUs:       len(usableCPUs()),
		CPUModel:   cpuModel(),
		Kernel:     kernelRelease(),
		GoVersion:  runtime.Version(),
		GOMAXPROCS: runtime.GOMAXPROCS(0),
		WaitPolicy: waitPolicy(),
	}
}

// usableCPUs are the CPUs that this process may run on.
func usableCPUs() []int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		set.Zero()
		for i := range runtime.NumCPU() {
			set.Set(i)
		}
	}
	var out []int
	for i := 0; len(out) < set.Count(); i++ {
		if set.IsSet(i) {
			out = append(out, i)
		}
	}
	return out
}

func cpuModel() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		if k, v, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

func kernelRelease() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}
