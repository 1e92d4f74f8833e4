// SPDX-License-Identifier: Apache-2.0

package gpc

import "xenvmm/gpc/srcu"

// A Reader is one thread's right to enter read sections of a Set. One goroutine
// at a time uses it. Its operations never block (the lock guards aside),
// allocate or take a lock.
//
// Operations on a cache return false if the cache is stale or inactive: the
// caller goes to Cache.Refresh and tries again. They also return false if the
// access does not lie within the cache's range, if a word is not aligned to its
// size in host memory, or, for the operations that return an old value, if the
// guest kept changing the word; so callers bound their tries. What returned false
// has changed no memory, but for a WriteAt that the memory went away under.
type Reader struct {
	set     *Set
	owner   owner
	slot    *srcu.Slot  // uncounted, if of a lock guard
	lock    sectionLock // held around sections; nil unless of a lock guard
	release func()
}

// NewReader returns a handle for one goroutine at a time.
func (s *Set) NewReader() *Reader {
	return s.reader(s.guard.newReader())
}

// NewThreadReader returns a handle for the calling thread: the caller is locked
// to it (runtime.LockOSThread), stays so, uses the handle on it alone and closes
// it there. If the guard is srcu and the kernel permits it, invalidations then
// don't wait for this thread even if it is taken off its processor in the middle
// of a section: the kernel makes it begin the section's last step anew. It never
// fails; otherwise the handle is one of NewReader.
func (s *Set) NewThreadReader() *Reader {
	g, ok := s.guard.(threadGuard)
	if !ok || described() != nil {
		return s.NewReader()
	}
	r := s.reader(g.newThreadReader())
	r.owner = thisThread()
	return r
}

// threadGuard is a guard that makes a difference between threads and goroutines.
type threadGuard interface {
	newThreadReader() (slot *srcu.Slot, lock sectionLock, release func())
}

func (s *Set) reader(slot *srcu.Slot, lock sectionLock, release func()) *Reader {
	if slot == nil {
		slot = srcu.NewUncounted()
	}
	return &Reader{set: s, slot: slot, lock: lock, release: release}
}

// Close ends the use of the handle.
func (r *Reader) Close() {
	if r.release != nil {
		r.owner.check()
		r.release()
		r.release = nil
		r.slot = nil
		r.lock = closedSection{}
	}
}

// closedSection is the lock of a closed Reader.
type closedSection struct{}

func (closedSection) enter(a, b *Cache) { panic("gpc: use of a closed Reader") }
func (closedSection) exit(a, b *Cache)  {}

// WaitPolicy names how invalidations of guard srcu wait for thread readers here
// (one of package srcu's Wait constants), and if that is not srcu.WaitRseq, why.
func WaitPolicy() (srcu.Wait, error) {
	if err := described(); err != nil {
		return srcu.WaitFutex, err
	}
	return srcu.Probe()
}
