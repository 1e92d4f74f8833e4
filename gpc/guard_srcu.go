// SPDX-License-Identifier: Apache-2.0

package gpc

import "xenvmm/gpc/srcu"

// srcuGuard has one reader domain for all caches of the Set: a grace period
// costs a scan of the readers, however many caches it covers.
type srcuGuard struct {
	domain *srcu.Domain
}

func newSRCUGuard(o Options) guard {
	return srcuGuard{srcu.New(srcu.Options{Log: o.Log})}
}

func (g srcuGuard) newReader() (*srcu.Slot, sectionLock, func()) {
	r := g.domain.NewReader()
	return r.Slot(), nil, r.Close
}

// newThreadReader implements threadGuard.
func (g srcuGuard) newThreadReader() (*srcu.Slot, sectionLock, func()) {
	r := g.domain.NewThreadReader()
	return r.Slot(), nil, r.Close
}

func (g srcuGuard) drain(_ index, mayBlock bool) (st srcu.Stats, done bool) {
	if mayBlock {
		return g.domain.Synchronize(), true
	}
	return g.domain.SpinSynchronize(spinLimit)
}
