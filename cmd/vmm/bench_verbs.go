// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"runtime"
	"time"

	"xenvmm/gpc"
	"xenvmm/vmm"
	"xenvmm/vmm/bench"
)

// benchDelivery is vmm bench delivery.
type benchDelivery struct {
	guardFlags  `embed:""`
	threadFlags `embed:""`
	Layout      string        `help:"spread: each thread has its own word of pending bits. shared: all share one. both. Default: both, with --kvm spread." placeholder:"NAME" enum:"spread,shared,both," default:""`
	Forms       []string      `help:"Parts of the path to measure, of ${bench_forms}. Default: all." placeholder:"NAME"`
	EventFD     *bool         `name:"eventfd" negatable:"" help:"Only the forms with a write to an eventfd, or only those without."`
	Rounds      int           `help:"Rounds in which the guards take turns. Default: 7, with --kvm 3." placeholder:"N"`
	Slices      int           `help:"Undisturbed slices of 250 us wanted in each round. Default: 5." placeholder:"N"`
	KVM         bool          `name:"kvm" help:"Deliver to a running guest, whose vCPUs take the upcalls. Needs KVM; default threads then: 1,2,4,8."`
	Duration    time.Duration `help:"With --kvm: time of sending in each round. Default: 1s." placeholder:"TIME"`
	Device      string        `help:"With --kvm: KVM device." default:"/dev/kvm" placeholder:"PATH"`
	benchOutput `embed:""`
}

// Help implements kong.HelpProvider.
func (benchDelivery) Help() string {
	return `The forms are parts of the path that an event takes:

    inline    the delivery itself: every one raises the upcall
    early     the delivery of an event whose port is pending already
    batch     inline, with several events of the shared word set at once
    eventfd   inline, with a write to and a read from an eventfd in front
    waiter    threads write eventfds, the machine's event threads deliver

With --kvm the whole path is taken, real vCPUs included, and no event may be
lost.

Examples:

    vmm bench delivery --guards srcu,rwlock --threads 1,2
    vmm bench delivery --layout spread --no-eventfd --plot delivery.svg
    vmm bench delivery --kvm --vcpus 1,2 --duration 5s
    vmm lab exec -- vmm bench delivery --kvm --duration 200ms`
}

// Run implements the verb.
func (b *benchDelivery) Run(s stdio) error {
	if b.KVM {
		return b.kvm(s)
	}
	if b.EventFD != nil && len(b.Forms) > 0 {
		return &vmm.ConfigError{Field: "eventfd", Remedy: "give either this or --forms"}
	}
	if b.EventFD != nil {
		b.Forms = []string{bench.FormInline, bench.FormEarly, bench.FormBatch}
		if *b.EventFD {
			b.Forms = []string{bench.FormEventFD, bench.FormWaiter}
		}
	}
	if b.Duration != 0 {
		return &vmm.ConfigError{Field: "duration", Value: b.Duration.String(), Remedy: "it applies with --kvm; give --rounds or --slices"}
	}
	if err := firstOf(b.guardFlags.check(), b.threadFlags.check(bench.MaxThreads), oneOf("forms", b.Forms, bench.Forms()),
		within("rounds", b.Rounds, 0, maxRounds), within("slices", b.Slices, 0, maxRounds)); err != nil {
		return err
	}
	o := bench.DeliveryOptions{
		Guards: b.Guards, Threads: b.Threads, Layouts: layoutNames(b.Layout), Forms: b.Forms, Rounds: b.Rounds, Slices: b.Slices,
	}
	_, err := b.run(s, deliveryPart(o))
	return err
}

func (b *benchDelivery) kvm(s stdio) error {
	if len(b.Forms) > 0 || b.EventFD != nil || b.Slices != 0 {
		return &vmm.ConfigError{Field: "kvm", Remedy: "leave out --forms, --eventfd and --slices: with a running guest there is one form, and --duration says how long"}
	}
	if b.Duration != 0 {
		if err := within("duration", b.Duration, minBenchDuration, maxBenchDuration); err != nil {
			return err
		}
	}
	if err := firstOf(oneOf("guards", b.Guards, gpc.Guards()), b.threadFlags.check(bench.MaxKVMVCPUs), within("rounds", b.Rounds, 0, maxRounds)); err != nil {
		return err
	}
	_, err := b.run(s, kvmPart(bench.KVMOptions{
		Guards: b.Guards, VCPUs: b.Threads, Layouts: layoutNames(b.Layout), Rounds: b.Rounds, Duration: b.Duration, Machine: vmm.Config{Device: b.Device},
	}))
	return err
}

// benchInvalidate is vmm bench invalidate.
type benchInvalidate struct {
	guardFlags  `embed:""`
	Profile     []string      `help:"Kinds of load, of ${bench_profiles}. Default: all." placeholder:"NAME"`
	Duration    time.Duration `help:"Time of measuring one guard in one profile, all repetitions together (default 5s)." default:"5s" placeholder:"TIME"`
	Repeat      int           `help:"Repetitions (default 10)." default:"10" placeholder:"N"`
	Readers     readerCount   `help:"Readers of the flood: on, off or both (the default); or how many the other profiles have (default 12)." default:"both" placeholder:"on|off|both|N"`
	Pace        time.Duration `help:"Pause of an updater after each invalidation (default 50us); 0 means none." default:"50us" placeholder:"TIME"`
	CPUs        int           `name:"cpus" help:"How many CPUs the threads may use. Default: all." placeholder:"N"`
	benchOutput `embed:""`
}

// Help implements kong.HelpProvider.
func (benchInvalidate) Help() string {
	return `The profiles:

    flood       12 updaters at once: 8 on shared_info, 4 on vcpu_info caches
    drain       one paced updater, readers on threads of their own inside a
                section 0.5 % of the time
    hot         the same, readers that do nothing else
    goroutines  the same, readers that are goroutines
    updaters    8 updaters at once, two readers at 0.5 %
    pair        one paced updater, two readers at 0.5 %

Examples:

    vmm bench invalidate --profile flood --duration 300s
    vmm bench invalidate --profile drain,hot --guards srcu,rwlock --plot drains.svg
    vmm bench invalidate --profile flood --readers off --pace 0`
}

// Run implements the verb.
func (b *benchInvalidate) Run(s stdio) error {
	if err := firstOf(b.guardFlags.check(), oneOf("profile", b.Profile, bench.Profiles()),
		within("duration", b.Duration, minBenchDuration, maxBenchDuration), within("repeat", b.Repeat, 1, maxRounds),
		within("pace", b.Pace, 0, time.Second), within("cpus", b.CPUs, 0, runtime.NumCPU())); err != nil {
		return err
	}
	_, err := b.run(s, invalidatePart(bench.InvalidateOptions{
		Guards: b.Guards, Profiles: b.Profile, Duration: b.Duration, Repetitions: b.Repeat,
		Readers: b.Readers.count, FloodReaders: b.Readers.flood, Pace: none(b.Pace), CPUs: b.CPUs,
	}))
	return err
}

// benchRead is vmm bench read.
type benchRead struct {
	guardFlags  `embed:""`
	threadFlags `embed:""`
	Rounds      int `help:"Rounds in which the guards take turns (default 9)." default:"9" placeholder:"N"`
	Slices      int `help:"Undisturbed slices of 250 us wanted in each round (default 9)." default:"9" placeholder:"N"`
	benchOutput `embed:""`
}

// Run implements the verb.
func (b *benchRead) Run(s stdio) error {
	if err := firstOf(b.guardFlags.check(), b.threadFlags.check(bench.MaxThreads),
		within("rounds", b.Rounds, 1, maxRounds), within("slices", b.Slices, 1, maxRounds)); err != nil {
		return err
	}
	_, err := b.run(s, readPart(bench.ReadOptions{Guards: b.Guards, Threads: b.Threads, Rounds: b.Rounds, Slices: b.Slices}))
	return err
}

// benchWake is vmm bench wake.
type benchWake struct {
	Rounds      int           `help:"Rounds in which the ways to wait take turns (default 5)." default:"5" placeholder:"N"`
	Duration    time.Duration `help:"Time of sending to one receiver in one condition, all rounds together (default 2s)." default:"2s" placeholder:"TIME"`
	benchOutput `embed:""`
}

// Run implements the verb.
func (b *benchWake) Run(s stdio) error {
	if err := firstOf(within("rounds", b.Rounds, 1, maxRounds), within("duration", b.Duration, minBenchDuration, time.Hour)); err != nil {
		return err
	}
	_, err := b.run(s, wakePart(bench.WakeOptions{Rounds: b.Rounds, Duration: b.Duration}))
	return err
}

// benchTargets is vmm bench targets.
type benchTargets struct {
	Rounds      int           `help:"Rounds of delivery and read (default 9)." default:"9" placeholder:"N"`
	Duration    time.Duration `help:"Time of measuring one guard in one profile of invalidate (default 5s)." default:"5s" placeholder:"TIME"`
	Repeat      int           `help:"Repetitions of invalidate (default 10)." default:"10" placeholder:"N"`
	benchOutput `embed:""`
}

// Help implements kong.HelpProvider.
func (benchTargets) Help() string {
	return `Measures what the targets are about, and nothing else. They are ratios within
one run, meant for two processors; exit code 17 says that some were missed.`
}

// Run implements the verb.
func (b *benchTargets) Run(s stdio) error {
	if err := firstOf(within("rounds", b.Rounds, 1, maxRounds), within("duration", b.Duration, minBenchDuration, maxBenchDuration), within("repeat", b.Repeat, 1, maxRounds)); err != nil {
		return err
	}
	reports, err := b.run(s, targetsPart(bench.TargetsOptions{Rounds: b.Rounds, Duration: b.Duration, Repetitions: b.Repeat}))
	if err != nil {
		return err
	}
	return missed(s, reports)
}

func deliveryPart(o bench.DeliveryOptions) benchPart {
	return benchPart{"delivery", func(ctx context.Context, p bench.Progress) (*bench.Report, error) { return bench.Delivery(ctx, o, p) }}
}

func kvmPart(o bench.KVMOptions) benchPart {
	return benchPart{"delivery --kvm", func(ctx context.Context, p bench.Progress) (*bench.Report, error) {
		return bench.KVMDelivery(ctx, o, p)
	}}
}

func invalidatePart(o bench.InvalidateOptions) benchPart {
	return benchPart{"invalidate", func(ctx context.Context, p bench.Progress) (*bench.Report, error) { return bench.Invalidate(ctx, o, p) }}
}

func readPart(o bench.ReadOptions) benchPart {
	return benchPart{"read", func(ctx context.Context, p bench.Progress) (*bench.Report, error) { return bench.Read(ctx, o, p) }}
}

func wakePart(o bench.WakeOptions) benchPart {
	return benchPart{"wake", func(ctx context.Context, p bench.Progress) (*bench.Report, error) { return bench.Wake(ctx, o, p) }}
}

func targetsPart(o bench.TargetsOptions) benchPart {
	return benchPart{"targets", func(ctx context.Context, p bench.Progress) (*bench.Report, error) { return bench.Targets(ctx, o, p) }}
}
