// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"xenvmm/gpc"
	"xenvmm/vmm"
	"xenvmm/vmm/bench"
)

func joined(names []string) string { return strings.Join(names, ", ") }

func benchGuardNames() string { return joined(gpc.BenchGuards()) }

// oneOf refuses a value that is not among the known ones.
func oneOf(flag string, values, known []string) error {
	for _, v := range values {
		if !slices.Contains(known, v) {
			return &vmm.ConfigError{Field: flag, Value: v, Remedy: "give one of " + joined(known)}
		}
	}
	return nil
}

// within refuses a number outside [lo, hi].
func within[T int | time.Duration](flag string, v, lo, hi T) error {
	if v < lo || v > hi {
		return &vmm.ConfigError{Field: flag, Value: fmt.Sprint(v), Remedy: fmt.Sprintf("give %v to %v", lo, hi)}
	}
	return nil
}

// firstOf is the first error there is.
func firstOf(errs ...error) error {
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}

// Bounds of what is worth asking for.
const (
	maxRounds        = 1000
	minBenchDuration = 10 * time.Millisecond
	maxBenchDuration = 24 * time.Hour
)

// guardFlags choose guards and how often they take turns.
type guardFlags struct {
	Guards []string `help:"Guards to measure, of ${bench_guards}; rwlock and none come along as what the others are compared with. Default: all." placeholder:"NAME"`
}

func (g *guardFlags) check() error { return oneOf("guards", g.Guards, gpc.BenchGuards()) }

// threadFlags choose numbers of threads.
type threadFlags struct {
	Threads []int `aliases:"vcpus" help:"Numbers of threads, each with a vCPU of its own; also --vcpus. Default: 1,2,4,8,16." placeholder:"N"`
}

func (t *threadFlags) check(most int) error {
	for _, n := range t.Threads {
		if err := within("threads", n, 1, most); err != nil {
			return err
		}
	}
	return nil
}

// layoutNames lowers --layout.
func layoutNames(layout string) []string {
	switch layout {
	case "":
		return nil // the default
	case "both":
		return bench.Layouts()
	}
	return []string{layout}
}

// readerCount is the value of --readers.
type readerCount struct {
	flood string // one of bench's Readers...
	count int    // 0: the default
}

const readersSyntax = "on, off, both, or a number of readers"

// UnmarshalText reads on, off, both or a number.
func (r *readerCount) UnmarshalText(b []byte) error {
	switch text := string(b); text {
	case "on":
		*r = readerCount{flood: bench.ReadersOn}
	case "off":
		*r = readerCount{flood: bench.ReadersOff}
	case "both":
		*r = readerCount{flood: bench.ReadersBoth}
	default:
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > bench.MaxThreads {
			return fmt.Errorf("%q is no choice of readers; give %s (1 to %d)", text, readersSyntax, bench.MaxThreads)
		}
		*r = readerCount{flood: bench.ReadersOn, count: n}
	}
	return nil
}
