// SPDX-License-Identifier: Apache-2.0

package gpc

// lingerTries is some ten microseconds of tries, less than it takes to block and be woken.
const lingerTries = 1024

// linger tries a Deliver that found Shared stale again, for a little while. Most
// invalidations end within microseconds, and to block in Refresh and be woken
// takes tens of them. Moreover each try moves the reader's counter, by which a
// grace period sees that sections of threads with the same processor are not
// running (package srcu), so it ends the sooner. It does not wait for anybody: a
// cache that is still stale then is the caller's to refresh.
func (r *Reader) linger(s *Signal) Result {
	for range lingerTries {
		if s.Shared.place.Load() == nil {
			break // inactive: nobody is about to change that
		}
		if res := deliver(r.slot, s); res != Stale {
			return res
		}
	}
	return Stale
}
