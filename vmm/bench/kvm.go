// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"strings"
	"time"

	"xenvmm/gpc"
	"xenvmm/vmm"
	"xenvmm/vmm/storm"
)

// KVMOptions choose what KVMDelivery measures. What is zero takes the default.
type KVMOptions struct {
	Guards   []string      // of gpc.Guards; all of them
	VCPUs    []int         // 1, 2, 4, 8
	Layouts  []string      // of Layouts; spread
	Rounds   int           // 3
	Duration time.Duration // of sending, for each guard, layout and number of vCPUs in each round; 1 s
	Machine  vmm.Config    // device, memory, busy polling; the rest is chosen here
}

// MaxKVMVCPUs bounds KVMDelivery: each vCPU comes with two more threads.
const MaxKVMVCPUs = 16

func (o KVMOptions) withDefaults() (KVMOptions, error) {
	orElse(&o.Rounds, 3)
	orElse(&o.Duration, time.Second)
	if len(o.VCPUs) == 0 {
		o.VCPUs = []int{1, 2, 4, 8}
	}
	if len(o.Layouts) == 0 {
		o.Layouts = []string{LayoutSpread}
	}
	var err error
	if o.VCPUs, err = threadCounts(o.VCPUs); err != nil {
		return o, err
	}
	if n := o.VCPUs[len(o.VCPUs)-1]; n > MaxKVMVCPUs {
		return o, fmt.Errorf("bench: %d vCPUs: give 1 to %d", n, MaxKVMVCPUs)
	}
	if o.Layouts, err = chosen("layout", o.Layouts, Layouts()); err != nil {
		return o, err
	}
	if o.Guards, err = chosen("guard", o.Guards, gpc.Guards()); err != nil {
		return o, err
	}
	if err := inRange("number of rounds", o.Rounds, 1, 1000); err != nil {
		return o, err
	}
	return o, inRange("duration", o.Duration, time.Millisecond, time.Hour)
}

// kvmRow collects what one guard did in one shape.
type kvmRow struct {
	guard, layout string
	vcpus         int

	writes, deliveries, fresh, upcalls []float64 // per second, one per round
	p50, p99                           []float64 // ns
	lost                               uint64
}

// KVMDelivery measures event delivery to a guest whose vCPUs take the upcalls:
// the product's whole path with real interrupts, while memory does not change.
// It needs KVM; the error is a *vmm.HostError where that is missing. A guest
// that fails, or an event that is lost, is an error too.
//
// When ctx ends, what was measured until then is returned together with the
// cause.
func KVMDelivery(ctx context.Context, o KVMOptions, p Progress) (*Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	report, finish := begin("kvm", "event delivery to a running guest", []Param{
		{"guards", strings.Join(o.Guards, " ")}, {"rounds", fmt.Sprint(o.Rounds)}, {"duration", o.Duration.String()},
	})
	var rows []*kvmRow
	for _, layout := range o.Layouts {
		for _, n := range o.VCPUs {
			for _, g := range o.Guards {
				rows = append(rows, &kvmRow{guard: g, layout: layout, vcpus: n})
			}
		}
	}
	done, err := takeTurns(o.Rounds, rows, p,
		func(r *kvmRow) string { return fmt.Sprintf("%s, %d vCPUs, %s", r.guard, r.vcpus, r.layout) },
		func(r *kvmRow) error { return r.measure(ctx, o) })
	if done == 0 {
		return nil, err
	}
	report.Partial = err != nil
	kvmResults(report, rows)
	finish()
	return report, err
}

// measure is one guest, from its boot to its end.
func (r *kvmRow) measure(ctx context.Context, o KVMOptions) error {
	mc := o.Machine
	mc.CPUs, mc.Guard = r.vcpus, r.guard
	s, err := storm.Steady(ctx, storm.SteadyConfig{Machine: mc, Shared: r.layout == LayoutShared, Duration: o.Duration})
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // a part of a round is not comparable to a whole one
	}
	r.lost += s.Lost
	if why := s.Problem(); why != "" {
		return fmt.Errorf("bench: guard %s, %d vCPUs, layout %s: %s", r.guard, r.vcpus, r.layout, why)
	}
	rate := func(n uint64) float64 { return float64(n) / s.Elapsed.Seconds() }
	r.writes, r.deliveries = append(r.writes, rate(s.Written)), append(r.deliveries, rate(s.Taken))
	r.fresh, r.upcalls = append(r.fresh, rate(s.Delivered)), append(r.upcalls, rate(s.Upcalls))
	r.p50, r.p99 = append(r.p50, float64(s.Latency.P50)), append(r.p99, float64(s.Latency.P99))
	return nil
}
