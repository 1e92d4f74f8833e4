// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// cell returns the number at a row and column of a report, which must be there.
func cell(t *testing.T, r *Report, table string, row []string, column string) Number {
	t.Helper()
	n := r.number(table, row, column)
	if n == nil {
		t.Fatalf("%s: no number at %v, %s", table, row, column)
	}
	return *n
}

// wellFormed checks what every reader of reports relies on.
func wellFormed(t *testing.T, r *Report) {
	t.Helper()
	if r.Name == "" || r.Title == "" || r.Env.CPUs == 0 || r.Env.Kernel == "" || r.Env.WaitPolicy == "" || r.Elapsed == 0 {
		t.Errorf("incomplete: %+v", r)
	}
	ids := map[string]bool{}
	for _, table := range r.Tables {
		if ids[table.ID] || table.ID == "" || table.Title == "" || len(table.Rows) == 0 {
			t.Errorf("table %q: not unique, or without title or rows", table.ID)
		}
		ids[table.ID] = true
		columns := map[string]bool{}
		for _, c := range table.Columns {
			if columns[c.ID] || c.ID == "" || c.Name == "" || c.Kind == "" {
				t.Errorf("table %s: column %+v", table.ID, c)
			}
			columns[c.ID] = true
		}
		if !slices.ContainsFunc(table.Columns, func(c Column) bool { return c.Published }) {
			t.Errorf("table %s has no published column", table.ID)
		}
		for _, row := range table.Rows {
			if len(row) != len(table.Columns) {
				t.Errorf("table %s: %d cells in a row of %d columns", table.ID, len(row), len(table.Columns))
			}
			for i, c := range row {
				if n := c.Number; n != nil && (n.N < 1 || !(n.Min <= n.Median && n.Median <= n.Max)) {
					t.Errorf("table %s, %s: %+v", table.ID, table.Columns[i].ID, *n)
				}
			}
		}
	}
	for _, p := range r.Plots {
		if p.ID == "" || p.Title == "" || p.Kind == "" || len(p.Series) == 0 {
			t.Errorf("plot %+v", p)
		}
	}
}

// endsEarly runs a benchmark that is cancelled before it starts, and once more at
// its third step, and expects the cause and what there was until then.
func endsEarly(t *testing.T, run func(context.Context, Progress) (*Report, error)) {
	t.Helper()
	cause := errors.New("enough")
	for _, at := range []int{0, 2} {
		ctx, cancel := context.WithCancelCause(context.Background())
		if at == 0 {
			cancel(cause)
		}
		steps := 0
		r, err := run(ctx, func(s Step) {
			if steps++; steps > at {
				cancel(cause)
			}
		})
		cancel(nil)
		if !errors.Is(err, cause) {
			t.Errorf("cancelled at step %d: %v", at, err)
		}
		if r == nil || !r.Partial || len(r.Tables) == 0 {
			t.Errorf("cancelled at step %d: no partial report: %+v", at, r)
		}
		if steps > at+1 {
			t.Errorf("cancelled at step %d, and went on to %d", at, steps)
		}
	}
}

// counting checks that progress never goes back and ends at the end.
func counting(t *testing.T) (p Progress, done func()) {
	last := Step{Done: -1}
	return func(s Step) {
			if s.Done < last.Done || s.Done > s.Total || last.Total != 0 && s.Total != last.Total {
				t.Errorf("progress goes from %+v to %+v", last, s)
			}
			last = s
		}, func() {
			if last.Done != last.Total || last.Total == 0 {
				t.Errorf("progress ends at %+v", last)
			}
		}
}
