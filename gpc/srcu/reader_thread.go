// SPDX-License-Identifier: Apache-2.0

package srcu

import "xenvmm/gpc/srcu/rseq"

// NewThreadReader returns a handle for the calling thread: the caller has locked
// itself to it (runtime.LockOSThread), and until it has closed the handle, there
// too, it stays locked and uses the handle nowhere else. Using it on another
// thread breaks that thread's own sections.
//
// Sections that are written for it (see SlotSeq) are restartable: a grace period
// that finds one in its way does not wait for it, not even if the kernel has
// taken its processor away. Sections of Enter and Exit are waited for as always.
//
// It never fails: where the kernel, or Options.Wait, does not permit restarting,
// the handle is like one of NewReader.
func (d *Domain) NewThreadReader() *Reader {
	return d.newReader(d.policy.attach(), 2)
}

// attach returns the area of the calling thread, or nil if it has to do without.
func (rseqWait) attach() *rseq.Area {
	if rseq.Prepare() != nil {
		return nil
	}
	a, err := rseq.Attach()
	if err != nil {
		return nil
	}
	return a
}
