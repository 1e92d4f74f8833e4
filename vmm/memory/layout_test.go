// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRAMGoesAroundTheHole(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	for _, tt := range []struct {
		size uint64
		want []Range
	}{
		{MinSize, []Range{{0, mib}}},
		{33 * mib, []Range{{0, 33 * mib}}},
		{3*gib - PageSize, []Range{{0, 3*gib - PageSize}}},
		{3 * gib, []Range{{0, 3 * gib}}},
		{3*gib + PageSize, []Range{{0, 3 * gib}, {4 * gib, PageSize}}},
		{3330 * mib, []Range{{0, 3 * gib}, {4 * gib, 258 * mib}}},
		{5 * gib, []Range{{0, 3 * gib}, {4 * gib, 2 * gib}}},
		{MaxSize, []Range{{0, 3 * gib}, {4 * gib, MaxSize - 3*gib}}},
	} {
		m, err := New(Config{Size: tt.size})
		if err != nil {
			t.Errorf("%s: %v", bytes(tt.size), err)
			continue
		}
		if d := cmp.Diff(tt.want, m.Ranges()); d != "" {
			t.Errorf("%s: %s", bytes(tt.size), d)
		}
		last := tt.want[len(tt.want)-1]
		if err := m.StoreUint64(last.End()-8, 1); err != nil {
			t.Errorf("%s: last word: %v", bytes(tt.size), err)
		}
		if err := m.WriteAt([]byte{1, 2}, last.End()-1); !errors.Is(err, ErrNoMemory) {
			t.Errorf("%s: beyond the end: %v", bytes(tt.size), err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestBadSizesAreRefusedWithValueAndRemedy(t *testing.T) {
	for size, want := range map[uint64][]string{
		0:                  {"0", "1 MiB"},
		1<<20 + 1:          {"1048577", "multiple of 4096", "1048576 or 1052672"},
		PageSize:           {"4 KiB", "minimum of 1 MiB"},
		1 << 40:            {"1 TiB", "maximum of 512 GiB"},
		MaxSize + PageSize: {"536870916 KiB", "512 GiB"},
		^uint64(0):         {"multiple"},
		^uint64(0xfff):     {"maximum"},
		1 << 63:            {"maximum"},
	} {
		_, err := New(Config{Size: size})
		if err == nil {
			t.Errorf("%#x accepted", size)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%#x: %q does not name %q", size, err, w)
			}
		}
	}
}

func TestNewGivesEverythingBackWhenASlotIsRefused(t *testing.T) {
	fds, maps := openFDs(t), memfdMappings(t)
	for fail := 2; fail <= 3; fail++ { // after the mapping: the first and the second RAM slot
		r := &recorder{failAt: fail}
		k := &fakeKVM{r: r, slots: map[uint32]Range{}}
		_, err := newMemory(Config{Size: 5 << 30, Slots: k}, fakeHost{r})
		if !errors.Is(err, errInjected) {
			t.Fatalf("failure %d: %v", fail, err)
		}
		if len(k.slots) != 0 {
			t.Errorf("failure %d: slots left: %v", fail, k.slots)
		}
	}
	if f, m := openFDs(t), memfdMappings(t); f != fds || m != maps {
		t.Errorf("descriptors %d -> %d, mappings %d -> %d", fds, f, maps, m)
	}
}
