// SPDX-License-Identifier: Apache-2.0

package srcu

import (
	"time"

	"golang.org/x/sys/unix"

	"xenvmm/gpc/srcu/rseq"
)

// sleepWait looks at the sections from time to time: the way to wait for those
// that end without waking anybody. It sleeps longer each time, so that readers
// get the processor and a section that lasts costs little.
type sleepWait struct{}

const (
	firstNap = 20 * time.Microsecond
	lastNap  = time.Millisecond
)

func (sleepWait) name() Wait                   { return WaitSleep }
func (sleepWait) attach() *rseq.Area           { return nil }
func (sleepWait) fence(*Domain, *pending) bool { return false }

func (sleepWait) await(d *Domain, p *pending) (aborted bool) {
	start := time.Now()
	for nap := firstNap; !p.poll(); nap = min(2*nap, lastNap) {
		ts := unix.NsecToTimespec(int64(nap))
		_ = unix.Nanosleep(&ts, nil) // woken early, it just looks again
		for i := range p.sections {
			d.watch(&p.sections[i], time.Since(start))
		}
	}
	return false
}
