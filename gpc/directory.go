// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"math"
	"slices"
	"sort"
)

// chunkGoal is about how many entries a chunk has. It balances the two things
// that a change of the list copies, one chunk and the directory of all.
const chunkGoal = 64

// A directory is the invalidation list: all entries sorted by gpa, in chunks.
// Published ones are immutable, so that invalidations read it without a lock; a
// change makes a new directory that shares all chunks but one. The entries of
// one page are never divided between chunks, so that what an invalidation of a
// page hits is part of one chunk and need not be copied together.
type directory []index

// chunk returns the number of the chunk that has, or is to have, the entries of
// the page of gpa; len(d) if all chunks end before it.
func (d directory) chunk(gpa uint64) int {
	page := gpa &^ (pageSize - 1)
	return sort.Search(len(d), func(i int) bool { return d[i][len(d[i])-1].gpa >= page })
}

// touching returns the entries that overlap [gpa, gpa+n), together with some
// from the page that gpa lies in which may not. It looks at as many entries as
// binary searches do, plus those it returns, and copies nothing unless they are
// in several chunks, which takes more than one page.
func (d directory) touching(gpa, n uint64) index {
	if n == 0 {
		return nil
	}
	last := gpa + (n - 1)
	if last < gpa {
		last = math.MaxUint64
	}
	first := gpa &^ (pageSize - 1) // no entry from an earlier page comes this far
	lo := d.chunk(gpa)
	hi := lo + sort.Search(len(d)-lo, func(i int) bool { return d[lo+i][0].gpa > last })
	switch hi - lo {
	case 0:
		return nil
	case 1:
		return d[lo].between(first, last)
	}
	var hit index
	for _, x := range d[lo:hi] {
		hit = append(hit, x.between(first, last)...)
	}
	return hit
}

// with returns d with e in it.
func (d directory) with(e entry) directory {
	if len(d) == 0 {
		return directory{{e}}
	}
	i := min(d.chunk(e.gpa), len(d)-1)
	x := d[i].with(e)
	if at := x.middle(); len(x) > 2*chunkGoal && at > 0 {
		return slices.Concat(d[:i], directory{x[:at:at], x[at:]}, d[i+1:])
	}
	return d.replace(i, i+1, x)
}

// without returns d without the entry of c at p, which it has.
func (d directory) without(c *Cache, p place) directory {
	i := d.chunk(p.gpa)
	x := d[i].without(entry{p.gpa, p.n, c})
	lo, hi := i, i+1
	if hi < len(d) && len(x)+len(d[hi]) <= chunkGoal {
		x, hi = slices.Concat(x, d[hi]), hi+1
	}
	if lo > 0 && len(x)+len(d[lo-1]) <= chunkGoal {
		x, lo = slices.Concat(d[lo-1], x), lo-1
	}
	return d.replace(lo, hi, x)
}

// replace returns d with x, unless it is empty, for the chunks from lo to hi.
func (d directory) replace(lo, hi int, x index) directory {
	if len(x) == 0 {
		return slices.Concat(d[:lo], d[hi:])
	}
	return slices.Concat(d[:lo], directory{x}, d[hi:])
}

// list puts c on the invalidation list for p.
func (s *Set) list(c *Cache, p place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.index.Load().with(entry{p.gpa, p.n, c})
	s.index.Store(&d)
}

// unlist takes it off again. No reader may still hold a mapping of p.
func (s *Set) unlist(c *Cache, p place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.index.Load().without(c, p)
	s.index.Store(&d)
}
