// SPDX-License-Identifier: Apache-2.0

package bench

// Figures published with the Linux KVM series "Use atomic SRCU for gfn-to-pfn
// cache" (2026), of the kernel's own gfn-to-pfn cache on other machines. They
// stand beside the figures measured here to be compared by shape, not by size.

// publishedRates are deliveries per second of threads that write eventfds, each
// bound to an event channel of its own vCPU, by the number of vCPUs.
var publishedRates = map[string]map[int]float64{
	"rwlock":   {1: 3.45e6, 2: 5.72e6, 4: 12.57e6, 8: 16.25e6, 16: 10.65e6},
	"srcu":     {1: 4.06e6, 2: 7.37e6, 4: 16.60e6, 8: 31.33e6, 16: 50.48e6},
	"spinlock": {1: 3.85e6, 2: 5.70e6, 4: 9.79e6, 8: 6.70e6, 16: 5.13e6},
}

// asPublished names the kernel's variant that a guard stands for. KVM's rwlock
// is one per cache, so that guard has its figures as well.
func asPublished(guard string) string {
	if guard == "rwlock-percache" {
		return "rwlock"
	}
	return guard
}

// publishedRate is what was published for a guard, if anything.
func publishedRate(guard, layout string, threads int) (perSecond float64, ok bool) {
	if layout != LayoutSpread {
		return 0, false
	}
	perSecond, ok = publishedRates[asPublished(guard)][threads]
	return perSecond, ok
}

// A publishedDrain is the latency of a drain in nanoseconds under the flood of
// twelve updaters, on two machines.
type publishedDrain struct {
	dynamicAvg, dynamicMax float64 // 128-way Ice Lake, PREEMPT_DYNAMIC
	rtAvg, rtMax           float64 // 192-way Granite Rapids, PREEMPT_RT
}

var publishedDrains = map[string]publishedDrain{
	"rwlock":         {590, 330e3, 4400, 3854e3},
	"srcu-expedited": {3650, 4383e3, 8600, 810e3},
	"srcu-notry":     {8040, 6034e3, 12000, 620e3},
	"srcu":           {3590, 326e3, 3000, 801e3},
}

// publishedMissed is the share of drains that missed the fast path.
var publishedMissed = map[string]float64{"srcu": 0.0007, "srcu-expedited": 0.006}
