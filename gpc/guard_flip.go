// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"xenvmm/gpc/srcu"
	"xenvmm/gpc/srcu/flip"
)

// flipGuard is SRCU as it was before counters per reader made the flip of an
// index unnecessary. It is there to be compared with.
type flipGuard struct{ domain *flip.Domain }

func newFlipGuard(Options) guard { return flipGuard{flip.New()} }

func (g flipGuard) newReader() (*srcu.Slot, sectionLock, func()) {
	r := g.domain.NewReader()
	return nil, flipSection{r}, r.Close
}

func (g flipGuard) drain(_ index, mayBlock bool) (st srcu.Stats, done bool) {
	if mayBlock {
		g.domain.Synchronize()
		return st, true
	}
	return st, g.domain.SpinSynchronize(spinLimit)
}

type flipSection struct{ r *flip.Reader }

func (s flipSection) enter(_, _ *Cache) { s.r.Enter() }
func (s flipSection) exit(_, _ *Cache)  { s.r.Exit() }
