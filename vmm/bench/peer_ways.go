// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"xenvmm/gpc"
	"xenvmm/vmm/eventfd"
	"xenvmm/vmm/irq"
	"xenvmm/vmm/kvm"
	"xenvmm/xenshim/abi"
	"xenvmm/xenshim/evtchn"
)

// A peerSide is one of the two that deliver. While it is attached, its cache of
// shared_info is live.
type peerSide interface {
	name() string
	attach() error
	detach() error
	// raise delivers an event by a call, from a thread with its own reader.
	raise(r *gpc.Reader) error
	// write delivers one by an eventfd.
	write() error
	// around makes a change of guest memory with what this side needs before and
	// after it, so that nobody uses the old.
	around(gpa, n uint64, change func() error) error
	// taken is where the guest counts the events.
	taken() *atomic.Uint64
	close() error
}

// ourSide is the product's path without the machine around it: event channel
// table, gpc, interrupt controller, event threads.
type ourSide struct {
	set    *gpc.Set
	table  *evtchn.Table
	port   *evtchn.HostPort
	irq    *irq.Controller
	event  *eventfd.Event
	waiter *eventfd.Waiter[*gpc.Reader]
	count  *atomic.Uint64
}

// lonely is what the table and the controller need beside: nobody polls, and the
// vCPU takes every message.
type lonely struct{}

func (lonely) WakePoller(int) {}
func (lonely) Kick(int)       {}
func (lonely) Connect(uint32, func()) (irq.Line, error) {
	return nil, errors.New("there are no lines")
}

func newOurSide(rig *peerRig, guard string) (s *ourSide, err error) {
	s = &ourSide{count: counterAt(rig.ram, peerOurCount)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.set, err = gpc.NewSet(rig, gpc.Options{Guard: guard}); err != nil {
		return s, err
	}
	s.irq = irq.New(irq.Config{
		VCPUs: 1, APICID: func(int) uint32 { return 0 }, Sender: rig.vm, Lines: lonely{}, Kicker: lonely{},
		Pending: func(int) bool { return false },
	})
	s.irq.SetVector(0, peerVector)
	if s.table, err = evtchn.New(evtchn.Config{VCPUs: 1, Domain: 1, Caches: s.set, Upcall: s.irq, Wake: lonely{}}); err != nil {
		return s, err
	}
	if err = s.attach(); err != nil {
		return s, err
	}
	r := s.set.NewReader()
	defer r.Close()
	if e := s.table.RegisterVCPUInfo(r, 0, peerInfo); e != abi.OK {
		return s, fmt.Errorf("bench: register vcpu_info: %w", e)
	}
	if s.port, err = s.table.BindHost(nil); err != nil {
		return s, err
	}
	if p := s.port.Port(); p/64 != peerOurWord {
		return s, fmt.Errorf("bench: port %d is not in word %d, where the guest looks", p, peerOurWord)
	}
	if s.event, err = eventfd.New(); err != nil {
		return s, err
	}
	s.waiter, err = eventfd.NewWaiter(eventfd.Options{}, func() (*gpc.Reader, func()) {
		r := s.set.NewThreadReader()
		return r, r.Close
	})
	if err != nil {
		return s, err
	}
	_, err = s.waiter.Add(s.event.FD(), eventfd.SinkFunc[*gpc.Reader](func(r *gpc.Reader, _ uint64) { s.port.Notify(r) }))
	return s, err
}

func (s *ourSide) name() string          { return "ours" }
func (s *ourSide) attach() error         { return s.table.MapSharedInfo(peerShared, abi.Width64) }
func (s *ourSide) detach() error         { s.table.UnmapSharedInfo(); return nil }
func (s *ourSide) write() error          { return s.event.Signal() }
func (s *ourSide) taken() *atomic.Uint64 { return s.count }

func (s *ourSide) raise(r *gpc.Reader) error {
	switch got := s.port.Notify(r); got {
	case gpc.Coalesced, gpc.Masked, gpc.NotPending:
		return fmt.Errorf("bench: an event on a port that is neither pending nor masked was taken for %s", got)
	}
	// Raised; or Pending, if the kernel is about to send an interrupt for an event
	// that the guest has seen already; or memory is away, and the event is kept.
	return nil
}

func (s *ourSide) around(gpa, n uint64, change func() error) error {
	if err := s.set.InvalidateStart(gpa, n, true); err != nil {
		return err
	}
	defer s.set.InvalidateEnd(gpa, n)
	return change()
}

func (s *ourSide) close() error {
	var errs []error
	if s.waiter != nil {
		errs = append(errs, s.waiter.Close())
	}
	if s.event != nil {
		errs = append(errs, s.event.Close())
	}
	if s.table != nil {
		s.table.Close()
	}
	return errors.Join(errs...)
}

// kernelSide is KVM's own event channels.
type kernelSide struct {
	vm    *kvm.VM
	event *eventfd.Event
	count *atomic.Uint64
}

// peerGSI is the interrupt number that stands for the kernel's port.
const peerGSI = irq.LastGSI + 1

func newKernelSide(rig *peerRig) (s *kernelSide, err error) {
	s = &kernelSide{vm: rig.vm, count: counterAt(rig.ram, peerKernelCount)}
	if s.event, err = eventfd.New(); err != nil {
		return nil, err
	}
	for _, step := range []func() error{
		s.attach,
		func() error { return s.vm.SetGSIRouting([]kvm.Route{kvm.ToXenEvtchn(peerGSI, peerKernelPort, 0)}) },
		func() error { return s.vm.IRQFD(s.event.FD(), peerGSI, kvm.IRQFDOpts{}) },
	} {
		if err = step(); err != nil {
			return nil, errors.Join(err, s.event.Close())
		}
	}
	return s, nil
}

func (s *kernelSide) name() string            { return "kernel" }
func (s *kernelSide) attach() error           { return s.vm.XenSetSharedInfo(peerShared / pageSize) }
func (s *kernelSide) detach() error           { return s.vm.XenSetSharedInfo(kvm.XenNoSharedInfo) }
func (s *kernelSide) raise(*gpc.Reader) error { return s.vm.XenEvtchnSend(peerKernelPort, 0) }
func (s *kernelSide) write() error            { return s.event.Signal() }
func (s *kernelSide) taken() *atomic.Uint64   { return s.count }
func (s *kernelSide) close() error            { return s.event.Close() }

// The kernel's caches hear of changes from its own memory management.
func (s *kernelSide) around(_, _ uint64, change func() error) error { return change() }

// peerLimit is how long the guest may take for one event.
const peerLimit = 20 * time.Second

// An eventTime is how long one event took, ns: until the call that sent it came
// back, and until the guest had taken it.
type eventTime struct{ call, taken float64 }

// one sends an event and waits until the guest has counted it. Nothing else is on
// its way at this side.
func (r *peerRig) one(s peerSide, send func() error) (t eventTime, err error) {
	count := s.taken()
	before := count.Load()
	start := time.Now()
	if err := send(); err != nil {
		return t, err
	}
	t.call = float64(time.Since(start))
	for looks := 0; count.Load() == before; looks++ {
		if looks%1024 == 1023 {
			if err := r.alive(); err != nil {
				return t, err
			}
			if time.Since(start) > peerLimit {
				return t, fmt.Errorf("bench: the guest has not taken an event of %s in %v", s.name(), peerLimit)
			}
		}
		yield()
	}
	t.taken = float64(time.Since(start))
	return t, nil
}
