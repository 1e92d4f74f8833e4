// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"errors"
	"sync/atomic"
	"time"

	"xenvmm/vmm/eventfd"
	"xenvmm/vmm/irq"
)

// retryAfter is how soon an upcall that the guest could not take is tried
// again. The usual reason is a LAPIC that is not enabled yet or interrupts that
// are off for a moment, and nothing tells when that ends.
const retryAfter = time.Millisecond

// owedUpcalls tries again while any vCPU is owed an upcall. Its timer is armed
// by whoever makes the debt, so an idle machine has none running.
type owedUpcalls struct {
	irq    *irq.Controller
	timer  *eventfd.Timer
	source *eventfd.Source[*delivery]
	armed  atomic.Bool // so that those who check often do not put it off for ever
}

func newOwedUpcalls(c *irq.Controller, w *eventfd.Waiter[*delivery]) (*owedUpcalls, error) {
	t, err := eventfd.NewTimer()
	if err != nil {
		return nil, err
	}
	o := &owedUpcalls{irq: c, timer: t}
	o.source, err = w.Add(t.FD(), eventfd.SinkFunc[*delivery](func(*delivery, uint64) { o.ring() }))
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return o, nil
}

// check arms the timer if something is owed.
func (o *owedUpcalls) check() {
	if o.irq.Owing() && !o.armed.Swap(true) {
		_ = o.timer.Arm(retryAfter)
	}
}

func (o *owedUpcalls) ring() {
	o.armed.Store(false)
	o.irq.Retry()
	o.check()
}

// Close stops trying.
func (o *owedUpcalls) Close() error {
	o.source.Close()
	return o.timer.Close()
}
