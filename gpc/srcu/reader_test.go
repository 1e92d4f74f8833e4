// SPDX-License-Identifier: Apache-2.0

package srcu

import (
	"bytes"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestOnlyTheOutermostPairOfNestedSectionsCounts(t *testing.T) {
	d := New(Options{})
	r := d.NewReader()
	defer r.Close()
	start := r.slot.seq.Load()
	for range 3 {
		r.Enter()
	}
	for range 2 {
		r.Exit()
		if d.TrySynchronize() {
			t.Fatal("an inner Exit ended the section")
		}
	}
	r.Exit()
	if !d.TrySynchronize() || r.slot.seq.Load() != start+2 {
		t.Fatalf("after the outermost Exit: seq %d, want %d", r.slot.seq.Load(), start+2)
	}
}

func TestAReusedSlotKeepsItsCounter(t *testing.T) {
	d := New(Options{})
	var last uint64
	slots := map[*Slot]bool{}
	for range 10 {
		r := d.NewReader()
		slots[r.slot] = true
		if seq := r.slot.seq.Load(); seq < last {
			t.Fatalf("counter went back from %d to %d", last, seq)
		}
		r.Enter()
		r.Exit()
		last = r.slot.seq.Load()
		r.Close()
		r.Close() // harmless
	}
	if len(slots) != 1 {
		t.Fatalf("%d slots used by one reader at a time", len(slots))
	}
}

func TestMisuseOfAReaderPanics(t *testing.T) {
	d := New(Options{})
	panics := func(name string, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s did not panic", name)
			}
		}()
		f()
	}
	r := d.NewReader()
	panics("Exit without Enter", r.Exit)
	r.Enter()
	panics("Close inside a section", r.Close)
	r.Exit()
	r.Close()
	panics("Enter after Close", r.Enter)
}

func TestAReaderDroppedInsideASectionIsReclaimed(t *testing.T) {
	var log bytes.Buffer
	d := New(Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	func() { d.NewReader().Enter() }()
	if d.TrySynchronize() {
		t.Fatal("the section was not seen")
	}
	until(t, "the slot is reclaimed", func() bool {
		runtime.GC()
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.free) == 1
	})
	if !d.TrySynchronize() {
		t.Fatal("the reclaimed slot still holds grace periods up")
	}
	if !strings.Contains(log.String(), "reader_test.go:") {
		t.Fatalf("the log does not name the owner: %s", log.String())
	}
}

// The scan agrees with a model that just knows who is inside.
func TestTrySynchronizeAgreesWithAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := New(Options{})
		var readers []*Reader
		var depth []int
		defer func() {
			for i, r := range readers {
				for ; depth[i] > 0; depth[i]-- {
					r.Exit()
				}
				r.Close()
			}
		}()
		pick := func(t *rapid.T) int {
			if len(readers) == 0 {
				t.Skip("no readers")
			}
			return rapid.IntRange(0, len(readers)-1).Draw(t, "reader")
		}
		t.Repeat(map[string]func(*rapid.T){
			"new": func(t *rapid.T) {
				readers, depth = append(readers, d.NewReader()), append(depth, 0)
			},
			"enter": func(t *rapid.T) {
				i := pick(t)
				readers[i].Enter()
				depth[i]++
			},
			"exit": func(t *rapid.T) {
				if i := pick(t); depth[i] > 0 {
					readers[i].Exit()
					depth[i]--
				}
			},
			"close": func(t *rapid.T) {
				if i := pick(t); depth[i] == 0 {
					readers[i].Close()
					readers = append(readers[:i], readers[i+1:]...)
					depth = append(depth[:i], depth[i+1:]...)
				}
			},
			"": func(t *rapid.T) {
				inside := false
				for _, n := range depth {
					inside = inside || n > 0
				}
				if d.TrySynchronize() == inside {
					t.Fatalf("depths %v, TrySynchronize %v", depth, !inside)
				}
			},
		})
	})
}
