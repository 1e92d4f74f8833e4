// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"testing"
	"time"
)

func TestEvaluate(t *testing.T) {
	report := func(table, column string, row []Cell, v float64) *Report {
		t := Table{ID: table, Columns: []Column{{ID: "guard"}, {ID: "threads"}, {ID: column}}}
		t.Rows = [][]Cell{{text("none"), text("2"), number(single(99))}, append(row, number(single(v)))}
		return &Report{Name: "delivery", Tables: []Table{t}}
	}
	srcu2 := []Cell{text("srcu"), text("2")}
	state := func(name string, r ...*Report) State {
		for _, x := range Evaluate(r...) {
			if x.Name == name {
				return x.State
			}
		}
		t.Fatalf("no target %s", name)
		return ""
	}
	for _, c := range []struct {
		name   string
		target string
		r      *Report
		want   State
	}{
		{"just met", "spread2-x-rwlock", report("inline-spread", "x_rwlock", srcu2, 5), Pass},
		{"just missed", "spread2-x-rwlock", report("inline-spread", "x_rwlock", srcu2, 4.99), Miss},
		{"another column", "spread2-x-rwlock", report("inline-spread", "x_none", srcu2, 5), NotMeasured},
		{"another table", "spread2-x-rwlock", report("inline-shared", "x_rwlock", srcu2, 5), NotMeasured},
		{"another row", "spread2-x-rwlock", report("inline-spread", "x_rwlock", []Cell{text("srcu"), text("1")}, 5), NotMeasured},
		{"no report", "spread2-x-rwlock", nil, NotMeasured},
	} {
		if got := state(c.target, c.r); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	drain := &Report{Name: "invalidate", Tables: []Table{{ID: "drain", Columns: []Column{{ID: "guard"}, {ID: "max"}}, Rows: [][]Cell{{text("srcu"), number(single(100e3))}}}}}
	if got := state("drain-max", nil, drain); got != Pass {
		t.Errorf("at most, just met: %s", got)
	}
	drain.Tables[0].Rows[0][1] = number(single(100e3 + 1))
	if got := state("drain-max", drain); got != Miss {
		t.Errorf("at most, just missed: %s", got)
	}
}

// Every target names a number that the benchmarks measure.
func TestTargetsMeasuresWhatItsTargetsAreAbout(t *testing.T) {
	p, end := counting(t)
	r, err := Targets(context.Background(), TargetsOptions{Rounds: 1, Duration: 3 * time.Millisecond, Repetitions: 1}, p)
	if err != nil {
		t.Fatal(err)
	}
	end()
	wellFormed(t, r)
	names := map[string]bool{}
	for _, x := range r.Targets {
		if x.State == NotMeasured || x.Value == nil || x.What == "" || names[x.Name] {
			t.Errorf("%+v", x)
		}
		names[x.Name] = true
	}
	if len(names) < 15 {
		t.Errorf("%d targets", len(names))
	}
}

func TestTargetsEndsWithItsContext(t *testing.T) {
	endsEarly(t, func(ctx context.Context, p Progress) (*Report, error) {
		return Targets(ctx, TargetsOptions{Duration: 20 * time.Millisecond}, p)
	})
}
