// SPDX-License-Identifier: Apache-2.0

// Package bench measures the gpc cache under each of its guards: how fast
// events are delivered (Delivery), how long an invalidation waits for readers
// (Invalidate), what entering and leaving a section costs (Read), and whether
// the project's targets are met (Targets).
//
// It prints nothing. Each entry point returns a Report of typed tables,
// histograms and plots, from which text, JSON and pictures are made elsewhere.
//
// # How noise is handled
//
// The hosts that these benchmarks run on are shared: a thread loses its
// processor for milliseconds at a time, to other processes and to other virtual
// machines. So
//
//   - work is measured in slices of about a quarter of a millisecond, all
//     threads of a slice starting together;
//   - a slice in which a thread lost its processor (an involuntary context
//     switch, or much less processor time than wall-clock time) is counted as
//     disturbed; medians are over the undisturbed ones, and the share of the
//     others is reported beside them;
//   - all guards take turns within each of several rounds; ratios are formed
//     within a round, and what is reported is the median over rounds together
//     with the smallest and the largest;
//   - drains, whose tail is the very thing to be measured, are never dropped:
//     those in which the waiter itself lost its processor are counted apart.
//
// What other processes and the hypervisor took of the machine during a run is
// in the Report too (Noise).
package bench
