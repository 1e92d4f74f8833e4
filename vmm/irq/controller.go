// SPDX-License-Identifier: Apache-2.0

package irq

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
)

// Sender sends a message-signalled interrupt (KVM_SIGNAL_MSI). delivered is
// false when no LAPIC took it.
type Sender interface {
	SignalMSI(addr uint64, data uint32) (delivered bool, err error)
}

// Lines connects level-triggered lines (KVM_IRQFD with a resample descriptor).
type Lines interface {
	// Connect makes line gsi follow Line.Assert until Line.Close. ended is
	// called, from any thread, when the guest has sent the EOI and the line was
	// taken low.
	Connect(gsi uint32, ended func()) (Line, error)
}

// Line is one connected level-triggered line.
type Line interface {
	Assert() error
	Close() error
}

// Kicker makes a vCPU leave KVM_RUN soon, so that its thread calls Enter.
type Kicker interface{ Kick(vcpu int) }

// Pending tells whether evtchn_upcall_pending of a vCPU is set now.
type Pending func(vcpu int) bool

// Config of a Controller. All of it is needed except Log.
type Config struct {
	VCPUs   int
	APICID  func(vcpu int) uint32
	Sender  Sender
	Lines   Lines
	Kicker  Kicker
	Pending Pending
	Log     *slog.Logger
}

// Controller knows how each vCPU wants to be interrupted and what it is owed.
// Upcall, Enter and Retry may be called from any thread at any time.
type Controller struct {
	cfg      Config
	cpus     []cpu
	owing    atomic.Int32 // number of vCPUs whose owed is set
	callback atomic.Uint64

	mu   sync.Mutex // guards line
	line Line
}

// cpu is padded: every vCPU's delivery path touches its own and nobody else's.
type cpu struct {
	msiAddr uint64
	vector  atomic.Uint32 // per-vCPU upcall vector, 0 if none
	owed    atomic.Bool   // an upcall was raised and not yet presented
	_       [128 - 8 - 4 - 4]byte
}

// New makes a controller in which no vCPU can be interrupted yet.
func New(cfg Config) *Controller {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	c := &Controller{cfg: cfg, cpus: make([]cpu, cfg.VCPUs)}
	for i := range c.cpus {
		c.cpus[i].msiAddr = msiAddress(cfg.APICID(i))
	}
	return c
}

// MSI address and data (Intel SDM vol. 3, "Message Signalled Interrupts"):
// fixed delivery, physical destination, edge trigger, level assert.
const (
	msiBase         = 0xfee00000
	msiDestShift    = 12
	msiLevelAssert  = 1 << 14
	lowestUserLevel = 0x10
)

func msiAddress(apicID uint32) uint64 { return msiBase | uint64(apicID&0xff)<<msiDestShift }

// SetVector gives a vCPU its own upcall vector, which takes precedence over
// the callback; a vector a LAPIC does not accept (below 0x10) takes it away.
func (c *Controller) SetVector(vcpu int, vector uint8) {
	if vcpu < 0 || vcpu >= len(c.cpus) {
		return
	}
	if vector < lowestUserLevel {
		vector = 0
	}
	c.cpus[vcpu].vector.Store(uint32(vector))
}

// Upcall interrupts a vCPU whose evtchn_upcall_pending went from 0 to 1. It
// does not block or allocate.
func (c *Controller) Upcall(vcpu int) {
	if vcpu < 0 || vcpu >= len(c.cpus) {
		return
	}
	p := &c.cpus[vcpu]
	if v := p.vector.Load(); v != 0 {
		c.send(vcpu, v)
		return
	}
	switch cb := unpack(c.callback.Load()); cb.Type {
	case CallbackVector:
		c.owe(p)
		c.cfg.Kicker.Kick(vcpu)
	case CallbackGSI, CallbackINTx:
		if vcpu == 0 {
			c.assert()
		}
	}
}

func (c *Controller) send(vcpu int, vector uint32) {
	p := &c.cpus[vcpu]
	ok, err := c.cfg.Sender.SignalMSI(p.msiAddr, msiLevelAssert|vector)
	if err != nil {
		c.cfg.Log.Debug("upcall message refused", "vcpu", vcpu, "vector", vector, "err", err)
	}
	if ok {
		c.settle(p)
	} else {
		c.owe(p)
	}
}

func (c *Controller) owe(p *cpu) {
	if !p.owed.Swap(true) {
		c.owing.Add(1)
	}
}

func (c *Controller) settle(p *cpu) {
	if p.owed.Load() && p.owed.Swap(false) {
		c.owing.Add(-1)
	}
}

// Owing tells whether any vCPU is owed an upcall.
func (c *Controller) Owing() bool { return c.owing.Load() > 0 }

// Retry tries again to present what is owed; a debt whose upcall is no longer
// pending is forgotten.
func (c *Controller) Retry() {
	for i := range c.cpus {
		p := &c.cpus[i]
		if !p.owed.Load() {
			continue
		}
		// Settle before looking: an upcall raised after the look owes anew.
		c.settle(p)
		if c.cfg.Pending(i) {
			c.Upcall(i)
		}
	}
}

// Reset forgets every vector, callback and debt, as at boot.
func (c *Controller) Reset() error {
	for i := range c.cpus {
		c.cpus[i].vector.Store(0)
		c.settle(&c.cpus[i])
	}
	return c.SetCallback(Callback{})
}

// Close takes the line down.
func (c *Controller) Close() error { return c.disconnect() }

func (c *Controller) assert() {
	c.mu.Lock()
	line := c.line
	c.mu.Unlock()
	if line == nil {
		return
	}
	if err := line.Assert(); err != nil {
		c.cfg.Log.Debug("assert the callback line", "err", err)
	}
}

// ended runs after the guest's EOI took the line low: it goes up again if the
// upcall is still pending.
func (c *Controller) ended() {
	if c.cfg.Pending(0) {
		c.assert()
	}
}

func (c *Controller) disconnect() error {
	c.mu.Lock()
	line := c.line
	c.line = nil
	c.mu.Unlock()
	if line == nil {
		return nil
	}
	if err := line.Close(); err != nil {
		return fmt.Errorf("disconnect the callback line: %w", err)
	}
	return nil
}
