// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"xenvmm/vmm/boot"
	"xenvmm/vmm/memory"
	"xenvmm/vmm/vcpu"
)

// portsPlaceholder in a command line stands for the host events' ports.
const portsPlaceholder = "{ports}"

// cmdline is the configured command line with "{ports}" replaced by the first
// host event's port and their number, as FIRST,COUNT.
func (m *Machine) cmdline() string {
	if len(m.events) == 0 {
		return m.cfg.Cmdline
	}
	ports := fmt.Sprintf("%d,%d", m.events[0].Port(), len(m.events))
	return strings.ReplaceAll(m.cfg.Cmdline, portsPlaceholder, ports)
}

// Plan lays a machine's boot image out without KVM and without writing
// anything: what goes where, and how it starts.
func Plan(cfg Config) (*boot.Image, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.WithDefaults()
	ram, err := memory.Layout(cfg.Memory)
	if err != nil {
		return nil, badMemory(cfg.Memory, err)
	}
	img, err := boot.Plan(bootParams(cfg, cfg.Cmdline, ram))
	if err != nil {
		return nil, badKernel(cfg.KernelName, err)
	}
	return img, nil
}

func bootParams(cfg Config, cmdline string, ram []memory.Range) boot.Params {
	p := boot.Params{
		Kernel: boot.Bytes(cfg.KernelName, cfg.Kernel), Cmdline: cmdline, CPUs: cfg.CPUs, APICID: apicID,
	}
	if p.NoLines = cfg.IRQChip == IRQChipSplit; !p.NoLines {
		p.Serial = []boot.SerialPort{{Port: 0x3f8, GSI: com1GSI}}
	}
	switch len(cfg.Initrds) {
	case 0:
	case 1:
		p.Initrds = cfg.Initrds
	default:
		p.Initrds = []boot.File{boot.Join("initrds", cfg.Initrds...)}
	}
	for _, r := range ram {
		p.RAM = append(p.RAM, boot.Range{GPA: r.GPA, Size: r.Size})
	}
	return p
}

func badKernel(name string, err error) error {
	return &ConfigError{Field: "kernel", Value: name, Remedy: "it cannot be booted", Err: err}
}

func badMemory(size uint64, err error) error {
	return &ConfigError{Field: "memory", Value: FormatBytes(size), Remedy: "give an amount that can be laid out", Err: err}
}

// Start loads the kernel and runs the vCPUs. A machine starts once.
func (m *Machine) Start() error {
	if m.started.Swap(true) {
		return errors.New("start: the machine has been started before")
	}
	img, err := m.load()
	if err != nil {
		return err
	}
	if err := loadEntry(m.kvms[0], img.EntryState()); err != nil {
		return fmt.Errorf("set the first vcpu's registers: %w", err)
	}
	// What firmware sets on one processor it sets on all: Linux warns of memory
	// types that differ.
	for i, k := range m.kvms[1:] {
		if err := loadMSRs(k, img.EntryState()); err != nil {
			return fmt.Errorf("set the MSRs of vcpu %d: %w", i+1, err)
		}
	}
	m.devices.pump(m.cfg.Serial.In)
	m.group.Start()
	return nil
}

// end records how the machine ends, the first time, and stops the vCPUs. It
// may be called from any thread.
func (m *Machine) end(e Ending, detail string) {
	m.mu.Lock()
	if m.ending == Running {
		m.ending, m.endDetail = e, detail
	}
	m.mu.Unlock()
	m.group.Stop(vcpu.Stop{Reason: vcpu.StopRequested})
}

// Stop ends the machine from outside; Wait reports Closed. Only before Close.
func (m *Machine) Stop() { m.end(Closed, "ended by the host") }

// Pause makes every vCPU leave the guest and keeps it out until resume is
// called. Devices go on. Pauses nest.
func (m *Machine) Pause() (resume func()) { return m.group.Pause() }

// Wait returns when the machine has ended, or ends it when ctx is done: as
// Timeout if that was a deadline, else as Closed. After a deadline it looks where
// the vCPUs are, for which it takes milliseconds, or a few seconds if one of them
// does not answer.
func (m *Machine) Wait(ctx context.Context) Status {
	select {
	case <-m.group.Done():
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			d := m.diagnose()
			m.mu.Lock()
			m.diagnosis = d
			m.mu.Unlock()
			m.end(Timeout, "the time allowed is over")
		} else {
			m.end(Closed, context.Cause(ctx).Error())
		}
	}
	m.group.Wait()
	// Whatever the guest printed last comes out before anybody looks at it.
	m.domain.EndConsole()
	s := m.status()
	switch s.Ending {
	case TripleFault, Stuck, HostFailure:
		s.Diagnosis = m.autopsy()
	}
	return s
}

// endings maps the reasons of package vcpu.
func endingOf(r vcpu.StopReason) Ending {
	switch r {
	case vcpu.StopTripleFault:
		return TripleFault
	case vcpu.StopHost:
		return HostFailure
	case vcpu.StopClosed:
		return Closed
	}
	return Stuck
}

func (m *Machine) status() Status {
	stop := m.group.Reason()
	m.mu.Lock()
	defer m.mu.Unlock()
	s := Status{Ending: m.ending, Detail: m.endDetail, Verdict: m.verdict, Tail: m.history.Lines()}
	if s.Ending == Running {
		s.Ending, s.VCPU, s.RIP, s.Detail, s.Err = endingOf(stop.Reason), stop.VCPU, stop.RIP, stop.Detail, stop.Err
	}
	if s.Ending == Timeout { // and not something else while it was diagnosed
		s.Diagnosis = m.diagnosis
	}
	return s
}

// sawLine watches the guest's output for a verdict.
func (m *Machine) sawLine(line string) {
	v, ok := ParseVerdict(line)
	if !ok {
		return
	}
	m.mu.Lock()
	m.verdict = &v
	m.mu.Unlock()
}

// resetXen is the soft reset: every other vCPU goes down, all Xen state is as
// at boot, memory stays, and the calling vCPU goes on.
func (m *Machine) resetXen(self int) {
	resume := m.group.Pause()
	defer resume()
	m.online.reset(self)
	if err := errors.Join(m.kernel.withdraw(), m.irq.Reset(), m.domain.Reset()); err != nil {
		m.end(Stuck, "soft reset failed: "+err.Error())
	}
	m.kernel.followOrEnd(self)
}
