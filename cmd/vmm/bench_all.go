// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"time"

	"xenvmm/gpc"
	"xenvmm/vmm"
	"xenvmm/vmm/bench"
)

// benchAll is vmm bench all.
type benchAll struct {
	guardFlags  `embed:""`
	Rounds      int           `help:"Rounds of delivery, read, wake and targets. Default: each benchmark's own." placeholder:"N"`
	Duration    time.Duration `help:"Time of measuring one guard in one profile of invalidate and targets, and one receiver in one condition of wake. Default: each benchmark's own." placeholder:"TIME"`
	Repeat      int           `help:"Repetitions of invalidate and targets. Default: 10." placeholder:"N"`
	KVM         bool          `name:"kvm" help:"Also deliver to a running guest. Needs KVM."`
	Device      string        `help:"With --kvm: KVM device." default:"/dev/kvm" placeholder:"PATH"`
	benchOutput `embed:""`
}

// Run implements the verb. A missed target is in the report; only vmm bench
// targets makes it the exit code.
func (b *benchAll) Run(s stdio) error {
	if err := firstOf(b.guardFlags.check(), within("rounds", b.Rounds, 0, maxRounds), within("repeat", b.Repeat, 0, maxRounds)); err != nil {
		return err
	}
	if b.Duration != 0 {
		if err := within("duration", b.Duration, minBenchDuration, time.Hour); err != nil {
			return err
		}
	}
	parts := []benchPart{
		deliveryPart(bench.DeliveryOptions{Guards: b.Guards, Rounds: b.Rounds}),
		readPart(bench.ReadOptions{Guards: b.Guards, Rounds: b.Rounds}),
		invalidatePart(bench.InvalidateOptions{Guards: b.Guards, Duration: b.Duration, Repetitions: b.Repeat}),
		wakePart(bench.WakeOptions{Rounds: b.Rounds, Duration: b.Duration}),
		targetsPart(bench.TargetsOptions{Rounds: b.Rounds, Duration: b.Duration, Repetitions: b.Repeat}),
	}
	if b.KVM {
		// A machine has no guard that is unsafe. This comes first: if the host lacks
		// KVM, that is known at once.
		safe := slices.DeleteFunc(slices.Clone(b.Guards), func(g string) bool { return !slices.Contains(gpc.Guards(), g) })
		parts = append([]benchPart{kvmPart(bench.KVMOptions{Guards: safe, Rounds: b.Rounds, Machine: vmm.Config{Device: b.Device}})}, parts...)
	}
	_, err := b.run(s, parts...)
	return err
}
