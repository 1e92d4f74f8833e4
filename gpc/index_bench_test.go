// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"fmt"
	"testing"
)

// populated is a set with n caches on the list, as many to a page as vcpu_infos
// share one.
func populated(b *testing.B, n int) (*Set, []place) {
	s, err := NewSet(anywhere{}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	places := make([]place, n)
	for i := range places {
		// Not in order of address, as guests do not register in that order.
		at := uint64(i) * 2654435761 % uint64(n)
		places[i] = place{at/4*pageSize + at%4*64, 64}
		s.list(new(Cache), places[i])
	}
	return s, places
}

// anywhere has memory everywhere, which nobody looks at.
type anywhere struct{}

func (anywhere) Resolve(gpa, n uint64) (uintptr, error) { return uintptr(gpa), nil }
func (anywhere) MarkDirty(gpa, n uint64)                {}

// BenchmarkIndex shows how the list of caches behaves as it grows: what an
// invalidation pays to find those it hits, what one that hits none pays, and
// what a cache pays to get on the list and off it. 384 are three caches for each
// of 128 vCPUs.
func BenchmarkIndex(b *testing.B) {
	for _, n := range []int{12, 384, 4096, 65536} {
		b.Run(fmt.Sprintf("hit/caches=%d", n), func(b *testing.B) {
			s, places := populated(b, n)
			found := 0
			for i := 0; b.Loop(); i++ {
				found += len(s.index.Load().touching(places[i%n].gpa, 1))
			}
			if found == 0 {
				b.Fatal("found none")
			}
		})
		b.Run(fmt.Sprintf("miss/caches=%d", n), func(b *testing.B) {
			s, _ := populated(b, n)
			for b.Loop() {
				if len(s.index.Load().touching(1<<40, pageSize)) != 0 {
					b.Fatal("found one")
				}
			}
		})
		b.Run(fmt.Sprintf("list+unlist/caches=%d", n), func(b *testing.B) {
			s, places := populated(b, n)
			b.ReportAllocs()
			c := new(Cache)
			for i := 0; b.Loop(); i++ {
				s.list(c, places[i%n])
				s.unlist(c, places[i%n])
			}
		})
	}
}
