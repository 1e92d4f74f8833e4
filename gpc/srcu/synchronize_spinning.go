// SPDX-License-Identifier: Apache-2.0

package srcu

import (
	"runtime"
	"time"
)

// spinTurn is how long SynchronizeSpinning keeps others from its processor of
// Go's: a reader that Go has preempted between Enter and Exit needs one.
const spinTurn = time.Millisecond

// SynchronizeSpinning is Synchronize without its two improvements, for
// comparison: it does not look first whether no reader is inside, and it spins
// until the last section has ended, never sleeping, for as long as that takes.
// All readers must be plain ones (NewReader).
func (d *Domain) SynchronizeSpinning() Stats {
	p := d.pendings.Get().(*pending)
	defer d.pendings.Put(p)
	start := time.Now()
	p.snapshot(d)
	for !p.spin(time.Now(), spinTurn) {
		runtime.Gosched()
	}
	return Stats{Spun: time.Since(start)}
}
