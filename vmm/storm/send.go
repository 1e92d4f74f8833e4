// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"xenvmm/vmm"
)

// sender writes to its share of the sources until stop, round after round.
type sender struct {
	events []*vmm.HostEvent
	pace   time.Duration
	total  *atomic.Uint64
	// written counts per event; read when the sender has ended.
	written []uint64
}

func (s *sender) run(ctx context.Context) error {
	// A thread of its own: what is measured is not how goroutines share one.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s.written = make([]uint64, len(s.events))
	pause := time.NewTicker(max(s.pace, 1))
	defer pause.Stop()
	for {
		for i, e := range s.events {
			if err := e.Signal(); err != nil {
				return err
			}
			s.written[i]++
		}
		s.total.Add(uint64(len(s.events)))
		if s.pace == 0 {
			if ctx.Err() != nil {
				return nil
			}
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-pause.C:
		}
	}
}
