// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// overlap is what touching and covers mean, written with one byte at a time in
// mind: some byte is in both ranges. Ranges end at the end of the address space.
func overlap(a, an, b, bn uint64) bool {
	if an == 0 || bn == 0 {
		return false
	}
	end := func(gpa, n uint64) uint64 {
		if n-1 > math.MaxUint64-gpa {
			return math.MaxUint64
		}
		return gpa + (n - 1)
	}
	return max(a, b) <= min(end(a, an), end(b, bn))
}

func drawRange(t *rapid.T, label string) (gpa, n uint64) {
	page := rapid.SampledFrom([]uint64{0, 1, 2, 3, 1 << 20, math.MaxUint64/pageSize - 1, math.MaxUint64 / pageSize}).Draw(t, label+" page")
	gpa = page*pageSize + rapid.Uint64Range(0, pageSize-1).Draw(t, label+" offset")
	n = rapid.OneOf(
		rapid.Uint64Range(0, 3*pageSize),
		rapid.SampledFrom([]uint64{math.MaxUint64, math.MaxUint64 - 1, 1 << 63, 1 << 32}),
	).Draw(t, label+" length")
	return gpa, n
}

// all returns every entry in order.
func (d directory) all() index { return slices.Concat(d...) }

// wellFormed fails the test if d breaks a rule of its type.
func (d directory) wellFormed(t interface{ Fatalf(string, ...any) }) {
	for i, x := range d {
		if len(x) == 0 {
			t.Fatalf("chunk %d is empty", i)
		}
		if i > 0 && d[i-1][len(d[i-1])-1].gpa/pageSize >= x[0].gpa/pageSize {
			t.Fatalf("chunks %d and %d share a page or are out of order", i-1, i)
		}
		if len(x) > 2*chunkGoal && x[0].gpa/pageSize != x[len(x)-1].gpa/pageSize {
			t.Fatalf("chunk %d has %d entries", i, len(x))
		}
		if i > 0 && i < len(d)-1 && len(d[i-1])+len(x)+len(d[i+1]) <= chunkGoal {
			t.Fatalf("chunks %d to %d have %d, %d and %d entries", i-1, i+1, len(d[i-1]), len(x), len(d[i+1]))
		}
	}
	if !slices.IsSortedFunc(d.all(), func(a, b entry) int { return cmp.Compare(a.gpa, b.gpa) }) {
		t.Fatalf("not sorted")
	}
}

func TestTheIndexFindsExactlyWhatOverlaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d directory
		var all []entry // what it should hold
		add := func(e entry) { d, all = d.with(e), append(all, e) }
		for range rapid.IntRange(0, 20).Draw(t, "entries") {
			gpa, n := drawRange(t, "entry")
			add(entry{gpa, min(max(n, 1), pageSize-gpa%pageSize), new(Cache)})
		}
		// And enough of them for several chunks, on pages that hold one or many.
		perPage := rapid.SampledFrom([]uint64{1, 3, 64, 200}).Draw(t, "per page")
		for i := range rapid.Uint64Range(0, 500).Draw(t, "more entries") {
			add(entry{(1<<20-1)*pageSize + i/perPage*pageSize + i%perPage*8, 8, new(Cache)})
		}
		d.wellFormed(t)
		for range rapid.IntRange(0, 5).Draw(t, "queries") {
			gpa, n := drawRange(t, "query")
			found := map[*Cache]bool{}
			for _, e := range d.touching(gpa, n) {
				found[e.cache] = e.reaches(gpa)
			}
			for _, e := range all {
				if want := overlap(e.gpa, e.n, gpa, n); found[e.cache] != want {
					t.Fatalf("[%#x, +%#x) and [%#x, +%#x): found %v", e.gpa, e.n, gpa, n, found[e.cache])
				}
			}
		}
		for range rapid.IntRange(0, len(all)).Draw(t, "removals") {
			i := rapid.IntRange(0, len(all)-1).Draw(t, "gone")
			before := d.all()
			d = d.without(all[i].cache, place{all[i].gpa, all[i].n})
			d.wellFormed(t)
			rest := d.all()
			if len(rest) != len(before)-1 || slices.Contains(rest, all[i]) {
				t.Fatalf("not removed")
			}
			all = slices.Delete(all, i, i+1)
		}
	})
}

// A published directory is read without a lock while others are made from it.
func TestAPublishedDirectoryDoesNotChange(t *testing.T) {
	var d directory
	caches := make([]*Cache, 300)
	at := func(i int) place { return place{uint64(i*37%300) * pageSize, 8} }
	for i := range caches {
		caches[i] = new(Cache)
		before, copied := d, slices.Clone(d.all())
		d = d.with(entry{at(i).gpa, at(i).n, caches[i]})
		if !slices.Equal(before.all(), copied) {
			t.Fatal("with changed what it was made from")
		}
	}
	for i, c := range caches {
		before, copied := d, slices.Clone(d.all())
		d = d.without(c, at(i))
		if !slices.Equal(before.all(), copied) {
			t.Fatal("without changed what it was made from")
		}
	}
	if len(d) != 0 {
		t.Fatalf("%d chunks are left", len(d))
	}
}

func TestATransactionCoversExactlyWhatItOverlaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var txns transactions
		type rng struct{ gpa, n uint64 }
		var open []rng
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			if len(open) > 0 && rapid.Bool().Draw(t, "end") {
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				idle := txns.end(open[i].gpa, open[i].n)
				open = slices.Delete(open, i, i+1)
				if idle != (len(open) == 0) {
					t.Fatalf("idle %v with %d open", idle, len(open))
				}
			} else {
				gpa, n := drawRange(t, "transaction")
				txns.begin(gpa, n)
				open = append(open, rng{gpa, n})
			}
			gpa, n := drawRange(t, "place")
			p := place{gpa, min(max(n, 1), pageSize-gpa%pageSize)}
			want := slices.ContainsFunc(open, func(r rng) bool { return overlap(r.gpa, r.n, p.gpa, p.n) })
			if got := txns.cover(p); got != want {
				t.Fatalf("cover(%#x) %v, open %#x", p, got, open)
			}
		}
	})
}
