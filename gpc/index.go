// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"cmp"
	"slices"
	"sort"
)

const pageSize = 4096

// An entry says that a cache may hold a mapping of [gpa, gpa+n), which lies in
// one page.
type entry struct {
	gpa, n uint64
	cache  *Cache
}

// An index is entries sorted by gpa, immutable once published.
type index []entry

// between returns the entries whose gpa is from first to last.
func (x index) between(first, last uint64) index {
	lo := sort.Search(len(x), func(i int) bool { return x[i].gpa >= first })
	hi := lo + sort.Search(len(x)-lo, func(i int) bool { return x[lo+i].gpa > last })
	return x[lo:hi]
}

// reaches reports whether e extends to gpa or beyond. For an entry that
// touching(gpa, n) returned this decides whether it overlaps.
func (e *entry) reaches(gpa uint64) bool { return e.gpa+(e.n-1) >= gpa }

// search returns where the entries at gpa begin, or would.
func (x index) search(gpa uint64) int {
	i, _ := slices.BinarySearchFunc(x, gpa, func(e entry, gpa uint64) int { return cmp.Compare(e.gpa, gpa) })
	return i
}

// with returns a copy of x that also has e.
func (x index) with(e entry) index {
	i := x.search(e.gpa)
	return slices.Concat(x[:i], index{e}, x[i:])
}

// without returns a copy of x that lacks one e, which it has.
func (x index) without(e entry) index {
	i := x.search(e.gpa)
	for x[i] != e {
		i++
	}
	return slices.Concat(x[:i], x[i+1:])
}

// middle returns where x can be divided, as near to its middle as may be without
// dividing a page; 0 if it is all one page.
func (x index) middle() int {
	divides := func(i int) bool { return x[i-1].gpa/pageSize != x[i].gpa/pageSize }
	half := len(x) / 2
	for i := range len(x) - half {
		if at := half + i; at > 0 && divides(at) {
			return at
		}
		if at := half - i; at > 0 && divides(at) {
			return at
		}
	}
	return 0
}
