// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"xenvmm/xenshim/abi"
	"xenvmm/xenshim/evtchn"
	"xenvmm/xenshim/gnttab"
	"xenvmm/xenshim/timer"
	"xenvmm/xenshim/xenstore"
)

// Domain is one guest as the hypervisor sees it.
type Domain struct {
	cfg    Config
	log    *slog.Logger
	vcpus  []*VCPU
	events *evtchn.Table
	timers *timer.Timers
	grants *gnttab.Table
	phys   *physmap
	params params

	sharedInfo *cachedPages // one page
	grantPages *cachedPages // MaxGrantFrames pages
	latches    latches

	shared       sharedState
	watchdogs    watchdogs
	runstateFlag atomic.Bool
	shutdownCode atomic.Uint32

	store   storeBackend
	console consoleBackend
}

// New makes a domain whose vCPU 0 is about to start. Nothing is mapped but the
// store and console pages.
func New(cfg Config) (*Domain, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	d := &Domain{cfg: cfg, log: cfg.Log, phys: newPhysmap(cfg.RAM)}
	if err := d.build(); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// build makes the parts of a domain. What it has made when it fails, Close
// takes down.
func (d *Domain) build() (err error) {
	cfg := &d.cfg
	if d.events, err = evtchn.New(evtchn.Config{
		VCPUs: cfg.VCPUs, Domain: cfg.DomID, Caches: cfg.Caches,
		Upcall: cfg.Platform, Wake: cfg.Platform, Log: cfg.Log,
	}); err != nil {
		return fmt.Errorf("domain event channels: %w", err)
	}
	if d.sharedInfo, err = d.newCachedPages(SharedInfoPages, 1, d.UpdateWallClock); err != nil {
		return fmt.Errorf("domain shared_info page: %w", err)
	}
	if d.grantPages, err = d.newCachedPages("grant_table", cfg.MaxGrantFrames, d.settleGrants); err != nil {
		return fmt.Errorf("domain %d grant table frames: %w", cfg.MaxGrantFrames, err)
	}
	if d.grants, err = gnttab.New(gnttab.Config{
		MaxFrames: cfg.MaxGrantFrames, Memory: grantMemory{d.grantPages}, RAM: grantRAM{d},
		Domain: cfg.DomID, Backend: abi.DomIDBackend,
		ConsoleGFN: cfg.ConsoleGFN, StoreGFN: cfg.StoreGFN,
	}); err != nil {
		return fmt.Errorf("domain grant table: %w", err)
	}
	d.timers = timer.New(cfg.VCPUs, alarm{cfg.Platform}, cfg.Platform, d.fireTimer)
	d.watchdogs = watchdogs{
		after:  func(t time.Duration, f func()) stopper { return time.AfterFunc(t, f) },
		now:    func() uint64 { return d.now(0) },
		expire: func() { cfg.Platform.Shutdown(d.shutdownReason(abi.ShutdownWatchdog)) },
	}
	d.shutdownCode.Store(noShutdownCode)
	for i := range cfg.VCPUs {
		d.vcpus = append(d.vcpus, newVCPU(d, i))
	}
	if err := d.startBackends(); err != nil {
		return err
	}
	d.latches.start(cfg.Caches)
	return nil
}

// Close ends the backends and timers. No vCPU may run any more.
func (d *Domain) Close() {
	d.latches.stop()
	d.stopBackends()
	d.watchdogs.reset()
	if d.timers != nil {
		d.timers.Reset()
	}
	if d.events != nil {
		d.events.Close()
	}
	for _, v := range d.vcpus {
		v.reader.Close()
		v.timerReader.Close()
		v.run.close()
	}
	d.vcpus = nil
	for _, p := range []*cachedPages{d.sharedInfo, d.grantPages, d.store.pages, d.console.pages} {
		p.close()
	}
}

// VCPU returns vCPU i.
func (d *Domain) VCPU(i int) *VCPU { return d.vcpus[i] }

// Events returns the event channel table.
func (d *Domain) Events() *evtchn.Table { return d.events }

// Store returns the domain's xenstore.
func (d *Domain) Store() *xenstore.Store { return d.store.store }

// Grants returns the grant table, for backends.
func (d *Domain) Grants() *gnttab.Table { return d.grants }

// TimerExpired is called when the alarm that Platform.ArmTimer set rang.
func (d *Domain) TimerExpired(vcpu int) { d.timers.Expired(vcpu) }

// fireTimer raises VIRQ_TIMER. The timer package never runs it twice at a time
// for one vCPU, which is what makes one reader per vCPU enough.
func (d *Domain) fireTimer(vcpu int) {
	d.events.RaiseVIRQ(d.vcpus[vcpu].timerReader, abi.VIRQTimer, vcpu)
}

// alarm shows the platform to the timer package.
type alarm struct{ p Platform }

func (a alarm) Arm(vcpu int, deadline uint64) { a.p.ArmTimer(vcpu, deadline) }
func (a alarm) Disarm(vcpu int)               { a.p.DisarmTimer(vcpu) }

// writeConsole passes emergency console output on.
func (d *Domain) writeConsole(p []byte) {
	if d.cfg.ConsoleIO != nil {
		// A writer's error is its owner's to handle; the guest gets none.
		_, _ = d.cfg.ConsoleIO.Write(p)
	}
}

var errConfig = errors.New("invalid domain configuration")
