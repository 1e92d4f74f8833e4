// SPDX-License-Identifier: Apache-2.0

package vcpu

import (
	"sync/atomic"

	"xenvmm/vmm/kvm"
)

// tally is how many exits a vCPU has made to this program, in the upper 56 bits,
// and the reason of the last one; rip is where the guest was then. Its thread
// writes it, anybody reads it.
type tally struct{ word, rip atomic.Uint64 }

const tallyReasonBits = 8

func (t *tally) add(r kvm.ExitReason, rip uint64) {
	r = min(r, 1<<tallyReasonBits-1)
	t.rip.Store(rip)
	t.word.Store((t.word.Load()>>tallyReasonBits+1)<<tallyReasonBits | uint64(r))
}

// read gives a count and the reason that belongs to it. The RIP may be that of
// the next exit already.
func (t *tally) read() (count uint64, last kvm.ExitReason, rip uint64) {
	w := t.word.Load()
	return w >> tallyReasonBits, kvm.ExitReason(w & (1<<tallyReasonBits - 1)), t.rip.Load()
}
