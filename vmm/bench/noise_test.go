// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"runtime"
	"testing"
	"time"
)

func TestDisturbed(t *testing.T) {
	start := time.Unix(0, 0)
	use := func(cpu, wall time.Duration, involuntary, voluntary int64) usage {
		return usage{cpu: cpu, at: start.Add(wall), involuntary: involuntary, voluntary: voluntary}
	}
	before := use(time.Second, 0, 5, 7)
	for _, c := range []struct {
		name  string
		after usage
		want  bool
	}{
		{"it ran throughout", use(time.Second+250*time.Microsecond, 250*time.Microsecond, 5, 7), false},
		{"another thread ran in between", use(time.Second+250*time.Microsecond, 250*time.Microsecond, 6, 7), true},
		{"the hypervisor took a third", use(time.Second+170*time.Microsecond, 250*time.Microsecond, 5, 7), true},
		{"a few microseconds are nothing", use(time.Second+12*time.Microsecond, 20*time.Microsecond, 5, 7), false},
		{"a small share is nothing", use(time.Second+950*time.Microsecond, time.Millisecond, 5, 7), false},
		{"it slept of its own will", use(time.Second+10*time.Microsecond, 250*time.Microsecond, 5, 8), false},
		{"it slept, and had to wait", use(time.Second+10*time.Microsecond, 250*time.Microsecond, 6, 8), true},
	} {
		if got := disturbed(&before, &c.after); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestUsageGrows(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var a, b usage
	a.take()
	for x := uint64(1); b.cpu <= a.cpu; b.take() {
		x = spinWork(1000, x)
	}
	if !b.at.After(a.at) {
		t.Errorf("from %v to %v", a, b)
	}
}

func TestParseMachineTime(t *testing.T) {
	m, ok := parseMachineTime("cpu  10 2 30 400 5 6 7 80 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
	if want := (machineTime{busy: 55, steal: 80, all: 540}); !ok || m != want {
		t.Errorf("%+v %v, want %+v", m, ok, want)
	}
	for _, bad := range []string{"", "cpu", "cpu 1 2 3", "cpu0 1 2 3 4 5 6 7 8 9", "cpu 1 2 x 4 5 6 7 8 9"} {
		if m, ok := parseMachineTime(bad); ok {
			t.Errorf("%q was read as %+v", bad, m)
		}
	}
	if m, ok := readMachineTime(); !ok || m.all == 0 {
		t.Errorf("this machine: %+v %v", m, ok)
	}
}

func TestTaken(t *testing.T) {
	from := machineTime{busy: 100, steal: 10, all: 1000, own: time.Second}
	for _, c := range []struct {
		name           string
		to             machineTime
		steal, foreign float64
	}{
		{"nothing has happened", from, 0, 0},
		{"all of it was ours", machineTime{busy: 200, steal: 10, all: 1200, own: 2 * time.Second}, 0, 0},
		{"ticks are coarse", machineTime{busy: 199, steal: 10, all: 1200, own: 2 * time.Second}, 0, 0},
		{"half of it, and some was stolen", machineTime{busy: 300, steal: 60, all: 1400, own: 2 * time.Second}, 0.125, 0.25},
	} {
		if steal, foreign := taken(from, c.to); steal != c.steal || foreign != c.foreign {
			t.Errorf("%s: steal %v, foreign %v", c.name, steal, foreign)
		}
	}
}
