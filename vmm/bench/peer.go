// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"xenvmm/gpc"
)

// PeerOptions choose what Peer measures. What is zero takes the default.
type PeerOptions struct {
	Rounds  int    // in which the two take turns; 11
	Events  int    // of each kind in a round; 100
	Changes int    // of each kind in a round; 20
	Guard   string // of this program's cache; the default of package gpc
	Device  string // "/dev/kvm"
}

func (o PeerOptions) withDefaults() (PeerOptions, error) {
	orElse(&o.Rounds, 11)
	orElse(&o.Events, 100)
	orElse(&o.Changes, 20)
	orElse(&o.Guard, gpc.Guards()[0])
	orElse(&o.Device, "/dev/kvm")
	if _, err := chosen("guard", []string{o.Guard}, gpc.Guards()); err != nil {
		return o, err
	}
	for what, n := range map[string]int{"number of rounds": o.Rounds, "number of events": o.Events, "number of changes": o.Changes} {
		if err := inRange(what, n, 1, 100_000); err != nil {
			return o, err
		}
	}
	return o, nil
}

// Peer measures this program's delivery and invalidation beside those of the
// kernel's own Xen support, in one virtual machine, by turns. It needs a KVM with
// CONFIG_KVM_XEN; the error is a *vmm.HostError elsewhere. An event that the guest
// does not take, or takes twice, is an error.
//
// When ctx ends, what was measured until then is returned together with the
// cause.
func Peer(ctx context.Context, o PeerOptions, p Progress) (*Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	report, finish := begin("peer", "delivery and invalidation beside the kernel's own", []Param{
		{"rounds", fmt.Sprint(o.Rounds)}, {"events", fmt.Sprint(o.Events)}, {"changes", fmt.Sprint(o.Changes)}, {"guard", o.Guard},
	})
	defer tuneRuntime(runtime.NumCPU() + 4)()
	// Readers, and what is measured, belong to this thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	rig, err := openPeerRig(o.Device)
	if err != nil {
		return nil, err
	}
	run := &peerRun{o: o, rig: rig}
	err = errors.Join(run.measure(ctx, p), rig.close())
	if run.done == 0 {
		return nil, err
	}
	report.Partial = err != nil
	peerResults(report, run)
	finish()
	return report, err
}

// A peerRun is one run: the rig, the two sides, and what came of it.
type peerRun struct {
	o      PeerOptions
	rig    *peerRig
	ours   *ourSide
	kernel *kernelSide
	reader *gpc.Reader
	done   int // rounds

	events  []*peerEvents
	changes []*peerChanges
	sent    map[peerSide]uint64 // events, one at a time
}

func (run *peerRun) sides() []peerSide { return []peerSide{run.ours, run.kernel} }

func (run *peerRun) measure(ctx context.Context, p Progress) (err error) {
	if run.ours, err = newOurSide(run.rig, run.o.Guard); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.ours.close()) }()
	if run.kernel, err = newKernelSide(run.rig); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.kernel.close()) }()
	run.reader = run.ours.set.NewThreadReader()
	defer run.reader.Close()
	run.events, run.changes, run.sent = newPeerEvents(), newPeerChanges(), map[peerSide]uint64{}
	before := map[peerSide]uint64{}
	for _, s := range run.sides() {
		before[s] = s.taken().Load()
	}
	parts := len(run.events) + len(run.changes)
	for round := range run.o.Rounds {
		for i, part := range run.parts() {
			p.tell(round*parts+i, run.o.Rounds*parts, fmt.Sprintf("round %d of %d: %s", round+1, run.o.Rounds, part.what))
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := part.measure(); err != nil {
				return fmt.Errorf("%s: %w", part.what, err)
			}
		}
		run.done++
	}
	p.tell(run.o.Rounds*parts, run.o.Rounds*parts, "")
	for _, s := range run.sides() {
		if taken := s.taken().Load() - before[s]; taken != run.sent[s] {
			return fmt.Errorf("bench: %s sent %d events one at a time, and the guest took %d", s.name(), run.sent[s], taken)
		}
	}
	return nil
}

type peerPart struct {
	what    string
	measure func() error
}

func (run *peerRun) parts() (parts []peerPart) {
	for _, e := range run.events {
		parts = append(parts, peerPart{e.what, func() error { return e.measure(run) }})
	}
	for _, c := range run.changes {
		parts = append(parts, peerPart{c.what, func() error { return c.measure(run) }})
	}
	return parts
}
