// SPDX-License-Identifier: Apache-2.0

package gpc

import "sync"

// newMutexGuard returns a guard with one sync.Mutex for all caches of the Set,
// readers excluding one another.
func newMutexGuard(Options) guard {
	s := new(mutexSection)
	return lockGuard{s, &s.mu}
}

type mutexSection struct {
	_  linePad
	mu sync.Mutex
	_  linePad
}

func (s *mutexSection) enter(_, _ *Cache) { s.mu.Lock() }
func (s *mutexSection) exit(_, _ *Cache)  { s.mu.Unlock() }
