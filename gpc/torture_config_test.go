// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// The environment that shapes a torture. What is not set is chosen.
const (
	envTortureTime     = "XENVMM_TORTURE"          // how long in all, as a Go duration
	envTortureGuard    = "XENVMM_TORTURE_GUARD"    // one guard only
	envTortureReaders  = "XENVMM_TORTURE_READERS"  // standing readers
	envTortureUpdaters = "XENVMM_TORTURE_UPDATERS" //
	envTortureSeed     = "XENVMM_TORTURE_SEED"     // of all choices but the scheduler's

	envTortureRun = "GPC_TORTURE_RUN" // the tortureRun of a child, as JSON
)

// A tortureRun is one child process.
type tortureRun struct {
	Guard    string
	Length   time.Duration
	Readers  int // standing ones: two of three are threads of their own
	Updaters int
	Seed     uint64
}

func (c tortureRun) String() string {
	return fmt.Sprintf("%s, %d readers, %d updaters, seed %d", c.Guard, c.Readers, c.Updaters, c.Seed)
}

// torturePlan divides the time: most of it goes to the default guard, in four
// sizes; the others share the rest, since what they have in common with it is
// tortured already.
func torturePlan(t *testing.T) (plan []tortureRun) {
	total := 6 * time.Second
	if testing.Short() {
		total = 3 * time.Second
	}
	if v := os.Getenv(envTortureTime); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil || d <= 0 {
			t.Fatalf("%s=%q: give a positive duration such as 20s", envTortureTime, v)
		}
		total = d
	}
	number := func(name string, otherwise int) int {
		v := os.Getenv(name)
		if v == "" {
			return otherwise
		}
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			t.Fatalf("%s=%q: give a positive number", name, v)
		}
		return n
	}
	seed := uint64(number(envTortureSeed, int(time.Now().UnixNano()%1_000_000)+1))
	add := func(guard string, length time.Duration, readers, updaters int) {
		plan = append(plan, tortureRun{
			Guard:    guard,
			Length:   max(length, time.Second), // less is over before it has begun
			Readers:  number(envTortureReaders, readers),
			Updaters: number(envTortureUpdaters, updaters),
			Seed:     seed + uint64(len(plan)),
		})
	}
	sizes := [][2]int{{1, 1}, {2, 2}, {6, 3}, {12, 4}} // readers, updaters
	if guard := os.Getenv(envTortureGuard); guard != "" {
		for _, size := range sizes {
			add(guard, total/4, size[0], size[1])
		}
		return plan
	}
	if testing.Short() {
		add(Guards()[0], total/2, 2, 1)
		add(Guards()[0], total/2, 6, 3)
		return plan
	}
	for _, size := range sizes {
		add(Guards()[0], total*6/10/4, size[0], size[1])
	}
	others := Guards()[1:]
	for i, guard := range others {
		size := sizes[1+i%3]
		add(guard, total*4/10/time.Duration(len(others)), size[0], size[1])
	}
	return plan
}

func tortureRunOfChild(t *testing.T) (c tortureRun) {
	v := os.Getenv(envTortureRun)
	if v == "" {
		t.Skip("runs in a child process of TestTortureUnderStalls")
	}
	must(json.Unmarshal([]byte(v), &c))
	return c
}
