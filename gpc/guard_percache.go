// SPDX-License-Identifier: Apache-2.0

package gpc

import "xenvmm/gpc/srcu"

// perCacheGuard is a sync.RWMutex in each cache, the shape that gfn-to-pfn
// caches had first: an event takes two locks, that of the shared_info cache and
// that of a vcpu_info cache.
type perCacheGuard struct{}

func newPerCacheGuard(Options) guard { return perCacheGuard{} }

func (perCacheGuard) newReader() (*srcu.Slot, sectionLock, func()) {
	return nil, perCacheSection{}, func() {}
}

func (perCacheGuard) drain(hit index, mayBlock bool) (st srcu.Stats, done bool) {
	v := passage{mayBlock: mayBlock, fast: true}
	for _, e := range hit {
		if !v.through(&e.cache.rw) {
			return st, false
		}
	}
	return srcu.Stats{Fast: v.fast}, true
}

type perCacheSection struct{}

func (perCacheSection) enter(a, b *Cache) {
	first, second := ordered(a, b)
	first.rw.RLock()
	if second != nil {
		second.rw.RLock()
	}
}

func (perCacheSection) exit(a, b *Cache) {
	first, second := ordered(a, b)
	if second != nil {
		second.rw.RUnlock()
	}
	first.rw.RUnlock()
}

// ordered returns the caches to lock for a section over a and b, in the one
// order that all readers take: by id. second is nil if there is one cache only.
func ordered(a, b *Cache) (first, second *Cache) {
	switch {
	case b == nil || a == b:
		return a, nil
	case a.id > b.id:
		return b, a
	}
	return a, b
}
