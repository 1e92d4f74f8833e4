// SPDX-License-Identifier: Apache-2.0

package gpc

import "sync"

// newRWLockGuard returns the guard that others are measured against: one
// sync.RWMutex for all caches of the Set.
func newRWLockGuard(Options) guard {
	s := new(rwlockSection)
	return lockGuard{s, &s.mu}
}

type rwlockSection struct {
	_  linePad
	mu sync.RWMutex
	_  linePad
}

func (s *rwlockSection) enter(_, _ *Cache) { s.mu.RLock() }
func (s *rwlockSection) exit(_, _ *Cache)  { s.mu.RUnlock() }
