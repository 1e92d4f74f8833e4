// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A goal is one line of the project's table of targets: a cell of a report, and
// what it should be. The row is the one whose leading cells read like row.
type goal struct {
	name, what string
	compare    string
	threshold  float64
	kind       Kind
	report     string
	table      string
	row        []string
	column     string
	note       string
}

func goals() []goal {
	spread := DeliveryTableID(FormInline, LayoutSpread)
	drain := func(profile string) string { return DrainTable(profile, true) }
	const (
		atLeast = ">="
		atMost  = "<="
		net     = "entering and leaving: the read itself, and what surrounds it, is left out of both sides"
	)
	return []goal{
		{"spread2-x-rwlock", "spread delivery, full path, 2 threads, against rwlock", atLeast, 5, Ratio, "delivery", spread, []string{"srcu", "2"}, "x_rwlock", ""},
		{"spread2-x-percache", "the same against two locks per delivery, KVM's shape", atLeast, 6, Ratio, "delivery", spread, []string{"srcu", "2"}, "x_percache", ""},
		{"spread2-x-none", "the same against no guard", atLeast, 0.7, Ratio, "delivery", spread, []string{"srcu", "2"}, "x_none", ""},
		{"spread2-x-single", "the same, 2 threads against 1", atLeast, 1.9, Ratio, "delivery", spread, []string{"srcu", "2"}, "x_single", ""},
		{"spread1-x-rwlock", "delivery, 1 thread, against rwlock", atLeast, 1.1, Ratio, "delivery", spread, []string{"srcu", "1"}, "x_rwlock", ""},
		{"spread1-x-none", "delivery, 1 thread, against no guard", atLeast, 0.75, Ratio, "delivery", spread, []string{"srcu", "1"}, "x_none", ""},
		{"read2-x-rwlock", "read section, 2 threads, rwlock's cost against srcu's", atLeast, 10, Ratio, "read", ReadTable, []string{"srcu", "2"}, "x_net", net},
		{"read1-x-rwlock", "read section, 1 thread, rwlock's cost against srcu's", atLeast, 2, Ratio, "read", ReadTable, []string{"srcu", "1"}, "x_net", net},
		{"drain-avg", "drain, 12 threads reading 0.5 %, average against rwlock", atMost, 0.3, Ratio, "invalidate", drain(ProfileDrain), []string{"srcu"}, "avg_x_rwlock", ""},
		{"drain-p999", "the same, p99.9 against rwlock", atMost, 0.2, Ratio, "invalidate", drain(ProfileDrain), []string{"srcu"}, "p999_x_rwlock", ""},
		{"drain-max", "the same, median of the repetitions' maxima", atMost, 100e3, Duration, "invalidate", drain(ProfileDrain), []string{"srcu"}, "max", ""},
		{"hot-avg", "drain, 12 threads reading all the time, average against rwlock", atMost, 0.35, Ratio, "invalidate", drain(ProfileHot), []string{"srcu"}, "avg_x_rwlock", ""},
		{"hot-p999", "the same, p99.9 against rwlock", atMost, 0.2, Ratio, "invalidate", drain(ProfileHot), []string{"srcu"}, "p999_x_rwlock", ""},
		{"hot-calm", "the same, repetitions without a drain over 1 ms", atLeast, 0.9, Share, "invalidate", drain(ProfileHot), []string{"srcu"}, "calm", ""},
		{"goroutines-avg", "drain, 12 goroutines reading, average against rwlock", atMost, 0.3, Ratio, "invalidate", drain(ProfileGoroutines), []string{"srcu"}, "avg_x_rwlock", ""},
		{"goroutines-p99", "the same, p99", atMost, 5e3, Duration, "invalidate", drain(ProfileGoroutines), []string{"srcu"}, "p99", ""},
		{"updaters-avg", "8 updaters at once, average against srcu-flip", atMost, 0.05, Ratio, "invalidate", drain(ProfileUpdaters), []string{"srcu"}, "avg_x_flip", ""},
		{"pair-missed", "drain, 2 threads reading 0.5 %, share that misses the fast path", atMost, 0.03, Share, "invalidate", drain(ProfilePair), []string{"srcu"}, "missed", ""},
	}
}

// Evaluate looks the targets up in reports of Delivery, Read and Invalidate.
// Those that none of them measures are NotMeasured.
func Evaluate(reports ...*Report) []Target {
	var out []Target
	for _, g := range goals() {
		t := Target{Name: g.name, What: g.what, Compare: g.compare, Threshold: g.threshold, Kind: g.kind, State: NotMeasured, Note: g.note, Report: g.report}
		for _, r := range reports {
			if r == nil || r.Name != g.report {
				continue
			}
			if v := r.number(g.table, g.row, g.column); v != nil {
				t.Value = v
			}
		}
		if t.Value != nil {
			t.State = Miss
			if t.Compare == ">=" && t.Value.Median >= t.Threshold || t.Compare == "<=" && t.Value.Median <= t.Threshold {
				t.State = Pass
			}
		}
		out = append(out, t)
	}
	return out
}

// number finds a cell's number; nil if there is none.
func (r *Report) number(table string, row []string, column string) *Number {
	for _, t := range r.Tables {
		if t.ID != table {
			continue
		}
		for _, cells := range t.Rows {
			if !reads(cells, row) {
				continue
			}
			for i, c := range t.Columns {
				if c.ID == column {
					return cells[i].Number
				}
			}
		}
	}
	return nil
}

// reads reports whether these are the texts of the leading cells.
func reads(cells []Cell, want []string) bool {
	for i, w := range want {
		if cells[i].Text != w {
			return false
		}
	}
	return true
}

// Targets measures what the targets are about, and nothing else, on two CPUs,
// and says which are met. When ctx ends first it returns what was measured until
// then, together with the cause.
func Targets(ctx context.Context, o TargetsOptions, p Progress) (*Report, error) {
	orElse(&o.Rounds, 21)
	orElse(&o.Duration, 10*time.Second)
	orElse(&o.Repetitions, 10)
	r, finish := begin("targets", "The project's targets", []Param{
		{"rounds", fmt.Sprint(o.Rounds)},
		{"duration per guard and profile", fmt.Sprintf("%v in %d repetitions", o.Duration, o.Repetitions)},
	})
	defer finish()
	drains := func(profiles []string, guards ...string) InvalidateOptions {
		return InvalidateOptions{Guards: guards, Profiles: profiles, Duration: o.Duration, Repetitions: o.Repetitions, CPUs: 2}
	}
	parts := []func(context.Context, Progress) (*Report, error){
		func(ctx context.Context, p Progress) (*Report, error) {
			return Delivery(ctx, DeliveryOptions{Guards: []string{"srcu", kvmShape}, Threads: []int{1, 2}, Layouts: []string{LayoutSpread}, Forms: []string{FormInline}, Rounds: o.Rounds}, p)
		},
		func(ctx context.Context, p Progress) (*Report, error) {
			return Read(ctx, ReadOptions{Guards: []string{"srcu"}, Threads: []int{1, 2}, Rounds: o.Rounds}, p)
		},
		func(ctx context.Context, p Progress) (*Report, error) {
			return Invalidate(ctx, drains([]string{ProfileDrain, ProfileHot, ProfileGoroutines, ProfilePair}, "srcu"), p)
		},
		func(ctx context.Context, p Progress) (*Report, error) {
			return Invalidate(ctx, drains([]string{ProfileUpdaters}, "srcu", "srcu-flip"), p)
		},
	}
	var reports []*Report
	var err error
	for i, measure := range parts {
		var part *Report
		part, err = measure(ctx, p.part(i, len(parts)))
		if part != nil {
			reports = append(reports, part)
			r.Tables = append(r.Tables, part.Tables...)
			for _, n := range part.Notes {
				if !slices.Contains(r.Notes, n) {
					r.Notes = append(r.Notes, n)
				}
			}
			r.Noise.Slices += part.Noise.Slices
			r.Noise.Disturbed += part.Noise.Disturbed
		}
		if err != nil {
			break
		}
	}
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	r.Targets = Evaluate(reports...)
	r.Partial = err != nil
	if met, measured := tallyTargets(r.Targets); measured > 0 {
		r.Title = strings.Join([]string{r.Title, fmt.Sprintf("%d of %d met", met, measured)}, ": ")
	}
	return r, err
}

func tallyTargets(targets []Target) (met, measured int) {
	for _, t := range targets {
		if t.State != NotMeasured {
			measured++
		}
		if t.State == Pass {
			met++
		}
	}
	return met, measured
}

// part is the progress of the i'th of n parts of a whole, in thousandths of each.
func (p Progress) part(i, n int) Progress {
	if p == nil {
		return nil
	}
	const unit = 1000
	return func(s Step) {
		if s.Done == s.Total && i < n-1 {
			return // the next part speaks for itself
		}
		p(Step{Done: i*unit + s.Done*unit/max(s.Total, 1), Total: n * unit, What: s.What})
	}
}
