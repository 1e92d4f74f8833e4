// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"xenvmm/gpc"
	"xenvmm/vmm/eventfd"
	"xenvmm/vmm/irq"
	"xenvmm/vmm/kvm"
	"xenvmm/vmm/memory"
	"xenvmm/vmm/vcpu"
	"xenvmm/xenshim"
)

// Machine is one virtual machine. Its states are
//
//	created → running ⇄ paused → ended
//
// New makes it with everything but the kernel in place, Start boots it, Wait
// tells how it ended, Close gives everything back. Methods may be called from
// any goroutine; Close must come last.
type Machine struct {
	cfg     Config
	history *history

	sys     *kvm.System
	vm      *kvm.VM
	kvms    []*tappedCPU
	memory  *memory.Memory
	caches  *gpc.Set
	waiters []*eventfd.Waiter[*delivery]
	clock   guestClock
	clocks  *vcpuClocks
	tscKHz  uint32
	devices *devices
	irq     *irq.Controller
	group   *vcpu.Group
	online  *online
	times   *systemTimes
	vectors []atomic.Uint32 // each vCPU's own upcall vector, 0 if none
	kernel  *kernelEvents   // nil unless the kernel delivers events
	timers  *alarms         // VIRQ_TIMER
	polls   *alarms         // SCHEDOP_poll time-outs
	owed    *owedUpcalls
	domain  *xenshim.Domain
	events  []*HostEvent
	readers []pendingReader
	scratch []cpuScratch

	callbackVector atomic.Uint32 // the domain's, 0 if none
	sharedInfo     hostPages

	softReset atomic.Bool
	started   atomic.Bool
	closing   sync.Once
	closeErr  error

	mu         sync.Mutex // guards what follows
	ending     Ending
	endDetail  string
	verdict    *Verdict
	diagnosis  *Diagnosis
	deliveries []*delivery
	notify     func(event int)
}

// New makes a machine. On failure everything is given back, and the error is a
// *ConfigError, a *HostError, or another that names the step.
func New(cfg Config) (*Machine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	m := &Machine{cfg: cfg.WithDefaults()}
	m.history = &history{watch: m.sawLine, lost: func(err error) { m.cfg.Log.Warn("guest output is lost", "err", err) }}
	if err := m.build(); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// gate stops the vCPUs while memory that they use changes place. Before they
// exist there is nothing to stop.
type gate struct{ m *Machine }

func (g gate) Pause() (resume func()) {
	if g.m.group == nil {
		return func() {}
	}
	return g.m.group.Pause()
}

func (m *Machine) build() (err error) {
	cfg := &m.cfg
	if m.sys, err = openKVM(cfg.Device); err != nil {
		return err
	}
	if err = checkCPUs(m.sys, cfg.CPUs); err != nil {
		return err
	}
	have := xenFlags(m.sys)
	if cfg.Evtchn == EvtchnKernel {
		if err = needKernelEvents(have); err != nil {
			return err
		}
	}
	if cfg.Trap, err = chooseTrap(cfg.Trap, have); err != nil {
		return err
	}
	if m.vm, err = newVM(m.sys, cfg.IRQChip, cfg.Trap); err != nil {
		return fmt.Errorf("create the virtual machine: %w", err)
	}
	if err = m.buildMemory(); err != nil {
		return err
	}
	for i := range cfg.Waiters {
		w, err := eventfd.NewWaiter(eventfd.Options{BusyPoll: cfg.BusyPoll}, m.openDelivery)
		if err != nil {
			return fmt.Errorf("event waiter %d: %w", i, err)
		}
		m.waiters = append(m.waiters, w)
	}
	if err = m.createVCPUs(); err != nil {
		return err
	}
	m.clock = guestClock{m.vm}
	m.clocks = newVCPUClocks(m.clock, m.times, m.memory)
	if m.timers, err = newAlarms(cfg.CPUs, m.clocks, m.waiters, func(v int, _ *delivery) { m.domain.TimerExpired(v) }); err != nil {
		return err
	}
	if m.polls, err = newAlarms(cfg.CPUs, m.clocks, m.waiters, func(v int, _ *delivery) { m.group.Wake(v) }); err != nil {
		return err
	}
	if err = m.buildInterrupts(); err != nil {
		return err
	}
	if err = m.buildDevices(); err != nil {
		return err
	}
	return m.buildDomain()
}

func (m *Machine) buildMemory() (err error) {
	slots, err := m.vm.CheckExtension(kvm.CapNrMemslots)
	if err != nil {
		return err
	}
	m.memory, err = memory.New(memory.Config{
		Size: m.cfg.Memory, Slots: m.vm, MaxSlots: slots, Gate: gate{m}, Log: m.cfg.Log,
	})
	if err != nil {
		return badMemory(m.cfg.Memory, err)
	}
	if m.caches, err = gpc.NewSet(m.memory, gpc.Options{Guard: m.cfg.Guard, Log: m.cfg.Log}); err != nil {
		return err
	}
	m.memory.AddNotifier(m.caches)
	return nil
}

func (m *Machine) createVCPUs() error {
	n := m.cfg.CPUs
	m.times = newSystemTimes(n)
	m.scratch = make([]cpuScratch, n)
	m.vectors = make([]atomic.Uint32, n)
	handles := make([]vcpu.KVM, n)
	for i := range n {
		k, err := m.vm.CreateVCPU(i)
		if err != nil {
			return fmt.Errorf("create vcpu %d of %d: %w", i, n, err)
		}
		tapped := &tappedCPU{VCPU: k, call: &m.scratch[i].call}
		m.kvms = append(m.kvms, tapped)
		m.scratch[i].clock = k.Clock
		k.SetSyncValid(kvm.SyncRegs | kvm.SyncSregs)
		handles[i] = tapped
	}
	khz, err := m.kvms[0].TSCKHz()
	if err != nil {
		return fmt.Errorf("read the TSC frequency: %w", err)
	}
	m.tscKHz = khz
	m.group = vcpu.NewGroup(handles, exits{m})
	m.online = newOnline(m.group)
	return nil
}

func (m *Machine) buildInterrupts() (err error) {
	for range m.cfg.CPUs {
		m.readers = append(m.readers, pendingReader{reader: m.caches.NewReader()})
	}
	var ls irq.Lines = lines{vm: m.vm, connect: m.watch}
	if m.cfg.IRQChip == IRQChipSplit {
		ls = noLines{func(why string) { m.end(Stuck, why) }}
	}
	m.irq = irq.New(irq.Config{
		VCPUs: m.cfg.CPUs, APICID: apicID, Sender: m.vm, Kicker: m.group, Pending: m.upcallPending, Lines: ls, Log: m.cfg.Log,
	})
	m.owed, err = newOwedUpcalls(m.irq, m.waiters[0])
	return err
}

func (m *Machine) buildDevices() (err error) {
	m.devices, err = newDevices(devicesConfig{
		serial: m.history.stream(m.cfg.Serial.Out), debug: m.history.stream(m.cfg.DebugPort),
		serialIRQ: m.line(com1GSI),
		reset:     func(how string) { m.end(Reboot, how) },
		off:       func(how string) { m.end(Poweroff, how) },
		ram:       m.memory.Ranges(),
	})
	return err
}

func (m *Machine) buildDomain() (err error) {
	var ram []xenshim.Range
	for _, r := range m.memory.Ranges() {
		ram = append(ram, xenshim.Range{GPA: r.GPA, Size: r.Size})
	}
	host, err := m.sys.SupportedCPUID()
	if err != nil {
		return err
	}
	console := m.history.stream(m.cfg.Console.Out)
	m.domain, err = xenshim.New(xenshim.Config{
		VCPUs: m.cfg.CPUs, Memory: m.memory, Pages: sharedInfoFinder{pageAllocator{m.memory}, &m.sharedInfo}, RAM: ram, Caches: m.caches,
		Platform: platform{m}, Log: m.cfg.Log, UUID: m.cfg.UUID, Name: m.cfg.Name,
		ConsoleIO: m.history.stream(m.cfg.Console.Out), ConsoleOut: console, ConsoleIn: m.cfg.Console.In,
		HypercallTrap: hypercallTrap(m.cfg.Trap, host),
	})
	if err != nil {
		return err
	}
	deadline, _ := m.sys.CheckExtension(kvm.CapTSCDeadlineTimer)
	for i, k := range m.kvms {
		if err := k.SetCPUID(vcpuCPUID(host, m.domain.CPUID(i), apicID(i), m.cfg.CPUs, deadline > 0)); err != nil {
			return fmt.Errorf("set the CPUID of vcpu %d: %w", i, err)
		}
	}
	m.events, err = connectHostEvents(m.cfg.HostEvents, m.domain.Events(), m.waiters, m.notified)
	if err != nil || m.cfg.Evtchn != EvtchnKernel {
		return err
	}
	shared, err := m.sharedInfo.p.Address(0)
	if err != nil {
		return err
	}
	m.kernel, err = startKernelEvents(m, shared)
	return err
}

// apicID of a vCPU: its number, which is also its ACPI processor id and its
// Xen vcpu id.
func apicID(vcpu int) uint32 { return uint32(vcpu) }

// watch calls fired when fd, an eventfd, has been written.
func (m *Machine) watch(fd int, fired func()) (stop func(), err error) {
	s, err := m.waiters[0].Add(fd, eventfd.SinkFunc[*delivery](func(*delivery, uint64) { fired() }))
	if err != nil {
		return nil, err
	}
	return s.Close, nil
}

func (m *Machine) openDelivery() (*delivery, func()) {
	d := newDelivery(m.caches)
	m.mu.Lock()
	m.deliveries = append(m.deliveries, d)
	m.mu.Unlock()
	return d, d.reader.Close
}

// applyTime makes another vCPU take over where its time is kept.
func (m *Machine) applyTime(v int) {
	err := m.group.Do(v, func(k vcpu.KVM) error { return m.times.apply(v, k) })
	if err != nil && !errors.Is(err, vcpu.ErrStopped) {
		m.cfg.Log.Debug("the guest's time area cannot be kept there", "vcpu", v, "err", err)
	}
}

// pendingReader is a vCPU's reader for those who ask about its upcall from any
// thread.
type pendingReader struct {
	mu     sync.Mutex // one at a time uses reader
	reader *gpc.Reader
	_      [64]byte
}

func (m *Machine) upcallPending(v int) bool {
	r := &m.readers[v]
	r.mu.Lock()
	defer r.mu.Unlock()
	return m.domain.Events().UpcallPending(r.reader, v)
}

// Close ends the machine if it runs and gives everything back. Later calls
// return what the first one did.
func (m *Machine) Close() error {
	m.closing.Do(func() { m.closeErr = m.release() })
	return m.closeErr
}

// release closes whatever was built. The order: first the threads that call
// into the domain, then the domain, then what it uses. What is closed stays in
// its field, because the domain calls the platform until it is closed itself.
func (m *Machine) release() error {
	var errs []error
	do := func(built bool, release func() error) {
		if built {
			errs = append(errs, release())
		}
	}
	if m.group != nil {
		errs = append(errs, m.group.Close()) // with the vCPU handles
	} else {
		for _, k := range m.kvms {
			errs = append(errs, k.Close())
		}
	}
	do(m.timers != nil, m.timers.Close)
	do(m.polls != nil, m.polls.Close)
	do(m.owed != nil, m.owed.Close)
	errs = append(errs, m.kernel.withdraw())
	for _, e := range m.events {
		errs = append(errs, e.close())
	}
	do(m.irq != nil, m.irq.Close)
	do(m.domain != nil, func() error { m.domain.Close(); return nil })
	do(m.devices != nil, m.devices.Close)
	for i := range m.readers {
		m.readers[i].reader.Close()
	}
	for _, w := range m.waiters {
		errs = append(errs, w.Close())
	}
	do(m.memory != nil, m.memory.Close)
	do(m.vm != nil, m.vm.Close)
	do(m.sys != nil, m.sys.Close)
	return errors.Join(errs...)
}
