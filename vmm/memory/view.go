// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"fmt"
	"slices"
	"sort"
)

// region is one contiguous piece of guest memory with one host mapping.
// Regions are immutable; a change makes new ones.
type region struct {
	gpa, size uint64
	base      hva
	owner     any // *ram, *Slot or *hole
}

func (r *region) end() uint64 { return r.gpa + r.size }

// view is what is mapped where, sorted by address and without overlaps. It is
// immutable, and nil once the memory is closed.
type view struct{ regions []region }

// find is the region that holds gpa, or nil. The first two regions are RAM in
// practice; the rest is searched by halves.
func (v *view) find(gpa uint64) *region {
	rs := v.regions
	if len(rs) > 0 && gpa-rs[0].gpa < rs[0].size {
		return &rs[0]
	}
	lo, hi := 1, len(rs)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		switch r := &rs[mid]; {
		case gpa < r.gpa:
			hi = mid
		case gpa-r.gpa < r.size:
			return r
		default:
			lo = mid + 1
		}
	}
	return nil
}

// covers tells whether every byte of [gpa, gpa+n) is mapped. n may be 0.
func (v *view) covers(gpa, n uint64) bool {
	if n > MaxGPA || gpa > MaxGPA-n {
		return false
	}
	for n > 0 {
		r := v.find(gpa)
		if r == nil {
			return false
		}
		part := min(n, r.end()-gpa)
		gpa, n = gpa+part, n-part
	}
	return true
}

// overlaps is a region that shares bytes with [gpa, gpa+n), or nil. skip is
// left out of account.
func (v *view) overlaps(gpa, n uint64, skip any) *region {
	for i := range v.regions {
		if r := &v.regions[i]; r.owner != skip && gpa < r.end() && r.gpa < gpa+n {
			return r
		}
	}
	return nil
}

// with is v plus r; without is v less the region of owner.
func (v *view) with(r region) *view {
	i := sort.Search(len(v.regions), func(i int) bool { return v.regions[i].gpa > r.gpa })
	return &view{slices.Insert(slices.Clone(v.regions), i, r)}
}

func (v *view) without(owner any) *view {
	return &view{slices.DeleteFunc(slices.Clone(v.regions), func(r region) bool { return r.owner == owner })}
}

func (r *region) String() string {
	return fmt.Sprintf("%v [%#x, %#x)", r.owner, r.gpa, r.end())
}
