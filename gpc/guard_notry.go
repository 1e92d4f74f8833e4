// SPDX-License-Identifier: Apache-2.0

package gpc

import "xenvmm/gpc/srcu"

// noTryGuard is an atomic grace period without the reader-free fast path: every
// invalidation goes through all of it, and spins to its end.
type noTryGuard struct{ plainSRCU }

func newNoTryGuard(o Options) guard {
	return noTryGuard{plainSRCU{srcuGuard{srcu.New(srcu.Options{Log: o.Log, Wait: srcu.WaitFutex})}}}
}

func (g noTryGuard) drain(_ index, mayBlock bool) (st srcu.Stats, done bool) {
	if mayBlock {
		g.domain.SynchronizeSpinning()
		return st, true
	}
	st, done = g.domain.SpinSynchronize(spinLimit)
	st.Fast = false // there is no fast path: it only happened to be short
	return st, done
}

// newExpeditedGuard returns SRCU with the fast path and, behind it, a grace
// period that sleeps at once instead of spinning.
func newExpeditedGuard(o Options) guard {
	return plainSRCU{srcuGuard{srcu.New(srcu.Options{Log: o.Log, Wait: srcu.WaitFutex, SpinNs: -1})}}
}

// plainSRCU is SRCU whose readers are all waited for, those of threads included:
// none is restarted.
type plainSRCU struct{ srcuGuard }

func (g plainSRCU) newThreadReader() (*srcu.Slot, sectionLock, func()) { return g.newReader() }
