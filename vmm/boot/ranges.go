// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"cmp"
	"slices"
)

// Range is a piece of guest physical memory, in bytes.
type Range struct{ GPA, Size uint64 }

// end is the address after the range; ranges are checked on entry to the
// package (valid), so it does not overflow.
func (r Range) end() uint64 { return r.GPA + r.Size }

func (r Range) overlaps(o Range) bool { return r.GPA < o.end() && o.GPA < r.end() }

// valid reports whether the range is non-empty and does not wrap; a range that
// ends exactly at 2^64 counts as wrapping.
func (r Range) valid() bool { return r.Size != 0 && r.GPA+r.Size > r.GPA }

// space is a set of bytes as sorted, disjoint, non-adjacent ranges.
type space []Range

// add unites the set with r.
func (s space) add(r Range) space {
	out := make(space, 0, len(s)+1)
	for _, x := range s {
		if x.end() < r.GPA || r.end() < x.GPA {
			out = append(out, x)
			continue
		}
		lo, hi := min(x.GPA, r.GPA), max(x.end(), r.end())
		r = Range{GPA: lo, Size: hi - lo}
	}
	out = append(out, r)
	slices.SortFunc(out, func(a, b Range) int { return cmp.Compare(a.GPA, b.GPA) })
	return out
}

// remove takes r out of the set.
func (s space) remove(r Range) space {
	out := make(space, 0, len(s)+1)
	for _, x := range s {
		if !x.overlaps(r) {
			out = append(out, x)
			continue
		}
		if x.GPA < r.GPA {
			out = append(out, Range{x.GPA, r.GPA - x.GPA})
		}
		if r.end() < x.end() {
			out = append(out, Range{r.end(), x.end() - r.end()})
		}
	}
	return out
}

// contains reports whether all of r is in the set.
func (s space) contains(r Range) bool {
	for _, x := range s {
		if x.GPA <= r.GPA && r.end() <= x.end() {
			return true
		}
	}
	return false
}

// lowest finds the lowest place for size bytes inside window, aligned to align
// (a power of two).
func (s space) lowest(window Range, size, align uint64) (gpa uint64, ok bool) {
	for _, x := range s {
		lo, hi := max(x.GPA, window.GPA), min(x.end(), window.end())
		lo = (lo + align - 1) &^ (align - 1)
		if lo < hi && hi-lo >= size {
			return lo, true
		}
	}
	return 0, false
}

// highest is like lowest from the top down.
func (s space) highest(window Range, size, align uint64) (gpa uint64, ok bool) {
	for i := len(s) - 1; i >= 0; i-- {
		lo, hi := max(s[i].GPA, window.GPA), min(s[i].end(), window.end())
		if hi <= lo || hi-lo < size {
			continue
		}
		if at := (hi - size) &^ (align - 1); at >= lo {
			return at, true
		}
	}
	return 0, false
}

// largest is the biggest range of the set inside window, for error messages.
func (s space) largest(window Range) (r Range) {
	for _, x := range s {
		lo, hi := max(x.GPA, window.GPA), min(x.end(), window.end())
		if lo < hi && hi-lo > r.Size {
			r = Range{lo, hi - lo}
		}
	}
	return r
}
