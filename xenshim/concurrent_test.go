// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"math/rand/v2"
	"sync"
	"testing"

	"xenvmm/xenshim/abi"
)

// TestConcurrentVCPUs lets every vCPU make random calls at once, with timers
// and clock changes beside them; the race detector looks on.
func TestConcurrentVCPUs(t *testing.T) {
	m := newMachine(t, abi.Width64)
	calls := 3000
	if testing.Short() {
		calls = 500
	}
	var wg sync.WaitGroup
	for i := range 4 {
		mine := *m // each has its own mode
		wg.Go(func() {
			s := source{rand.New(rand.NewPCG(uint64(i), 9))}
			for n := range calls {
				if n%4 == 0 {
					mine.scramble(s)
					mine.randomState(s)
				}
				mine.stepOn(mine.d.VCPU(i), s)
			}
		})
	}
	wg.Go(func() {
		for n := range calls {
			m.pass(1000)
			m.d.TimerExpired(n % 4)
			if n%100 == 0 {
				m.d.UpdateWallClock()
				m.d.EventFrames()
			}
		}
	})
	wg.Wait()
}
