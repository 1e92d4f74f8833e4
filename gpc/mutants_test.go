// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"xenvmm/gpc/srcu"
)

// An edit replaces text that occurs exactly once in a source file of this
// package or below it.
type edit struct{ file, old, new string }

// Mutants are the product's own source with one mistake made, compiled by means
// of the go command's overlay. The product carries nothing for their sake, and
// one whose text has changed fails loudly.
var mutants = []struct {
	name  string
	edits []edit
	test  string // what catches it; "" is the torture, which fails
}{
	{"no grace period", []edit{{"invalidate.go", "s.guard.drain(hit, mayBlock)", "noGuard{}.drain(hit, mayBlock)"}}, ""},
	{"unmap first", []edit{
		{"torture_unsafe_test.go", "	if err := s.InvalidateStart(gfn*pageSize, pageSize, mayBlock); err != nil {\n		return\n	}\n	old := m.page(gfn)\n", "	old := m.page(gfn)\n"},
		{"torture_unsafe_test.go", "	m.put(gfn, pool.take())\n	s.InvalidateEnd", "	m.put(gfn, pool.take())\n	must(s.InvalidateStart(gfn*pageSize, pageSize, true))\n	s.InvalidateEnd"},
	}, ""},
	{"publish during invalidation", []edit{
		{"refresh.go", "if s.txns.cover(*at) {", "if false {"},
		{"patience.go", "	pt.set.txns.await(p, tryLimit)\n", ""},
	}, ""},
	{"publish without the claim", []edit{
		{"refresh.go", "if c.m.CompareAndSwap(claim, &mapping{hva: hva, n: at.n, gpa: at.gpa}) {", "if c.m.Store(&mapping{hva: hva, n: at.n, gpa: at.gpa}); true {"},
	}, ""},
	{"reader loads before enter", []edit{
		slowSections,
		// The second argument is the cache, or a signal, whose first word is one.
		{"section_amd64.h", "#define ENTER(inside) \\\n", "#define ENTER(inside) \\\n	MOVQ c+8(FP), R8; \\\n	MAPPING(R8); \\\n"},
		{"access_amd64.s", "	MOVQ c+8(FP), R8; \\\n	MOVL off+16(FP), R9; \\\n	MAPPING(R8); \\\n	LOCATE(R8, R9, SIZE", "	MOVL off+16(FP), R9; \\\n	LOCATE(R8, R9, SIZE"},
	}, ""},
	// The window is that of a store buffer: the model in package srcu needs no
	// luck to find it, and neither does looking at the code.
	{"plain store at entry", []edit{
		{"section_amd64.h", "	XCHGQ DX, const_slotSeq(DI); \\\ninside:", "	MOVQ DX, const_slotSeq(DI); DECQ DX; \\\ninside:"},
	}, "TestSectionsAreEnteredAndLeftWithFullBarriers"},
	{"reader exits before use", []edit{
		{"access_amd64.s", "	LOCATE(R8, R9, SIZE, ALIGN, R10, fail)\n", "	LOCATE(R8, R9, SIZE, ALIGN, R10, fail); \\\n	LEAQ 2(DX), DX; MOVQ DX, const_slotSeq(DI)\n"},
	}, ""},
	{"inactive but valid", []edit{{"cache.go", "	c.m.Store(c.set.invalid)\n	if old", "	if next != nil {\n		c.m.Store(c.set.invalid)\n	}\n	if old"}}, ""},
	{"off the list before the readers are out", []edit{
		slowSections,
		{"cache.go", "	c.place.Store(next)\n", "	if old != nil {\n		c.set.unlist(c, *old)\n	}\n	c.place.Store(next)\n"},
		{"cache.go", "	c.set.unlist(c, *old)\n	c.set.resolver", "	c.set.resolver"},
	}, ""},
	{"mapped before it is on the list", []edit{
		{"cache.go", "		c.set.list(c, *next)\n		c.moveTo(old, next)\n", "		c.moveTo(old, next)\n		_ = c.Refresh()\n		c.set.list(c, *next)\n"},
	}, ""},
	// Of restartable sections. That of a store buffer, as above, and that of a
	// section of Enter and Exit which the updater takes for a restartable one, are
	// for the model.
	{"membarrier skipped", slices.Concat(threadDuel, []edit{
		{"srcu/wait_rseq.go", "err := w.restart()", "err := error(nil)"},
	}), ""},
	{"membarrier that restarts nothing", slices.Concat(threadDuel, []edit{
		{"srcu/rseq/fence.go", "= 1 << 7", "= 1 << 3"}, // MEMBARRIER_CMD_PRIVATE_EXPEDITED
		{"srcu/rseq/fence.go", "= 1 << 8", "= 1 << 4"},
		{"srcu/rseq/probe.go", "if have&membarrierRseq == 0", "if false && have&membarrierRseq == 0"},
	}), ""},
	{"witness on any processor", slices.Concat(threadDuel, []edit{
		{"srcu/witness.go", "s.restartable && s.cpu == cpu", "s.restartable"},
	}), ""},
	{"witness that has not moved", slices.Concat(threadDuel, []edit{
		{"srcu/witness.go", "seq != w.seq {", "seq|1 != 0 {"},
	}), ""},
	{"commit outside its range", slices.Concat(threadDuel, []edit{
		{"access_amd64.s", "	XCHGL AX, (R9)\n	COMMITTED(const_xchg32Range)\n", "	COMMITTED(const_xchg32Range)\n" + slower("	NOP\n") + "	XCHGL AX, (R9)\n"},
	}), ""},
	{"range begins behind its load", slices.Concat(threadDuel, []edit{
		{"access_amd64.s", "	START(N, again); \\\n	MOVQ c+8(FP), R8; \\\n	MOVL off+16(FP), R9; \\\n	MAPPING(R8); \\\n	LOCATE(R8, R9, SIZE",
			"	MOVQ c+8(FP), R8; \\\n	MAPPING(R8); \\\n	START(N, again); \\\n	MOVL off+16(FP), R9; \\\n	LOCATE(R8, R9, SIZE"},
	}), ""},
	{"signature missing", slices.Concat(threadDuel, []edit{
		{"section_amd64.h", "LONG $0x53053053", "LONG $0x53053054"},
	}), "TestRangesAreRestartable"},
	{"exit does not wake", []edit{
		slowSections, noBackstop, noSpin, oneSpin,
		{"section_amd64.h", "	JNE   wake; \\\n", "	JNE   done; \\\n"},
	}, hang},
}

// hang stands for a torture that does not come to its end.
const hang = "hang"

// These make mistakes show sooner and are none themselves.
var (
	// slowSections gives the world time to change while a reader has a pointer.
	slowSections = edit{"section_amd64.h", "	MOVQ Cache_m(R), R\n", "	MOVQ Cache_m(R), R" + strings.Repeat("; PAUSE", 32) + "\n"}
	// slowerSections gives the updater time to return from a system call that has
	// interrupted the reader.
	slowerSections = edit{slowSections.file, slowSections.old, slower(slowSections.old)}
	// noBackstop leaves a sleeping updater nothing but its wake-up.
	noBackstop = edit{"srcu/domain.go", "defaultBackstop = 20 * time.Millisecond", "defaultBackstop = 0"}
	// noSpin and oneSpin make updaters sleep.
	noSpin  = edit{"srcu/domain.go", "defaultSpin     = 2 * time.Microsecond", "defaultSpin     = 0"}
	oneSpin = edit{"srcu/pending.go", "pollsPerClock = 8", "pollsPerClock = 1"}
	// threadDuel has a restartable reader duel with an updater that asks the
	// kernel at once.
	threadDuel = []edit{slowerSections, noSpin, oneSpin, {
		"torture_unsafe_test.go",
		"		r := s.NewReader()\n		defer r.Close()\n		for !stop.Load() {\n			r.Xchg32(",
		"		runtime.LockOSThread()\n		defer runtime.UnlockOSThread()\n		r := s.NewThreadReader()\n		defer r.Close()\n		for !stop.Load() {\n			r.Xchg32(",
	}}
)

// slower appends some microseconds to a line of assembly.
func slower(line string) string {
	return strings.TrimSuffix(line, "\n") + strings.Repeat("; PAUSE", 400) + "\n"
}

func TestTorture(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds per guard")
	}
	eachGuard(t, func(t *testing.T, guard string) {
		if out, err := torture(t, os.Args[0], guard, time.Minute); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
}

func TestMutantsAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles and runs each mutant")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("compiling mutants needs the go command: ", err)
	}
	t.Run("control", func(t *testing.T) {
		if out, err := torture(t, build(t, []edit{slowSections, noBackstop, noSpin, oneSpin}), "srcu", time.Minute); err != nil {
			t.Fatalf("the product does not survive: %v\n%s", err, out)
		}
	})
	restartable, _ := WaitPolicy()
	t.Run("control of restartable sections", func(t *testing.T) {
		out, err := torture(t, build(t, threadDuel), "srcu", time.Minute)
		if err != nil {
			t.Fatalf("the product does not survive: %v\n%s", err, out)
		}
		t.Log(firstLine(strings.ReplaceAll(out, " cycles, ", " cycles; ")))
	})
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			if len(m.edits) > len(threadDuel) && m.edits[len(threadDuel)-1] == threadDuel[len(threadDuel)-1] && restartable != srcu.WaitRseq {
				t.Skip("there are no restartable sections here")
			}
			binary := build(t, m.edits)
			start := time.Now()
			var out string
			var err error
			switch m.test {
			case "":
				// How soon depends on what the machine does besides: some mistakes
				// show only when both sides run at the same time.
				for err == nil && time.Since(start) < time.Minute {
					out, err = torture(t, binary, "srcu", time.Minute)
				}
			case hang:
				out, err = torture(t, binary, "srcu", 15*time.Second)
			default:
				out, err = run(t, time.Minute, binary, "-test.run=^"+m.test+"$", "-test.v")
			}
			if hung := errors.Is(err, context.DeadlineExceeded); hung != (m.test == hang) {
				t.Fatalf("hung %v: %v %s", hung, err, out)
			}
			if err == nil {
				t.Fatalf("the mutant survived: %s", out)
			}
			t.Logf("caught after %v: %s", time.Since(start).Round(time.Millisecond), firstLine(out))
		})
	}
}

// torture runs the child and returns an error unless it survives.
func torture(t *testing.T, binary, guard string, limit time.Duration) (string, error) {
	t.Setenv(tortureEnv, guard)
	out, err := run(t, limit, binary, "-test.run=^TestTortureChild$", "-test.v")
	if err == nil && !strings.Contains(out, "SURVIVED") {
		err = errors.New("the child did not run to its end")
	}
	return out, err
}

func run(t *testing.T, limit time.Duration, binary string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	out, err := exec.CommandContext(ctx, binary, args...).CombinedOutput()
	if ctx.Err() != nil {
		return "hung", ctx.Err()
	}
	return string(out), err
}

// build compiles this package's test binary with the edits made.
func build(t *testing.T, edits []edit) (binary string) {
	t.Helper()
	dir := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for _, e := range edits {
		path := filepath.Join(here, e.file)
		text, ok := sources[path]
		if !ok {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text = string(b)
		}
		if n := strings.Count(text, e.old); n != 1 {
			t.Fatalf("%s contains %d times, not once: %q", e.file, n, e.old)
		}
		sources[path] = strings.Replace(text, e.old, e.new, 1)
	}
	inlineHeaders(t, sources)
	overlay := map[string]string{}
	for path, text := range sources {
		mutated := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(mutated, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay[path] = mutated
	}
	replace, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(config, replace, 0o600); err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, "mutant.test")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay", config, "-o", binary, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("compiling the mutant: %v\n%s", err, out)
	}
	return binary
}

// inlineHeaders puts edited headers into the assembly files beside them in place
// of the include, because overlays do not reach what the assembler includes.
func inlineHeaders(t *testing.T, sources map[string]string) {
	t.Helper()
	for header, text := range sources {
		if filepath.Ext(header) != ".h" {
			continue
		}
		delete(sources, header)
		files, err := filepath.Glob(filepath.Join(filepath.Dir(header), "*.s"))
		if err != nil {
			t.Fatal(err)
		}
		include := `#include "` + filepath.Base(header) + "\"\n"
		inlined := 0
		for _, path := range files {
			asm, ok := sources[path]
			if !ok {
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				asm = string(b)
			}
			if strings.Contains(asm, include) {
				sources[path] = strings.Replace(asm, include, text, 1)
				inlined++
			}
		}
		if inlined == 0 {
			t.Fatalf("nothing includes %s", header)
		}
	}
}

func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if !strings.HasPrefix(line, "=== RUN") && !strings.Contains(line, " cycles, ") {
			return strings.TrimSpace(line)
		}
	}
	return s
}
