// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"

	"xenvmm/vmm/bench"
)

// targets is the table of what was promised and what came of it. Its numbers
// are of several kinds, so each stands with its unit.
func targets(ts []bench.Target) *bench.Table {
	t := &bench.Table{Columns: []bench.Column{
		{ID: "state", Name: "", Kind: bench.Label},
		{ID: "what", Name: "target", Kind: bench.Label},
		{ID: "threshold", Name: "wanted", Kind: bench.Label},
		{ID: "value", Name: "measured", Kind: bench.Label},
		{ID: "note", Name: "", Kind: bench.Label},
	}}
	for i := range ts {
		g := &ts[i]
		t.Rows = append(t.Rows, []bench.Cell{
			{Text: stateText(g.State)}, {Text: g.What},
			{Text: g.Compare + " " + quantity(g.Kind, g.Threshold)},
			{Text: valueText(g)}, {Text: g.Note},
		})
	}
	return t
}

func stateText(s bench.State) string {
	if s == bench.Miss {
		return "MISS" // must catch the eye
	}
	return string(s)
}

func valueText(g *bench.Target) string {
	v := g.Value
	if v == nil {
		return "-"
	}
	s := quantity(g.Kind, v.Median)
	if v.Min != v.Max {
		u := unitFor(g.Kind, []float64{v.Median})
		s += " (" + u.text(g.Kind, v.Min) + ".." + u.text(g.Kind, v.Max) + ")"
	}
	return s
}

// Missed are the names of the targets that reports have missed.
func Missed(reports ...*bench.Report) []string {
	var names []string
	for _, r := range reports {
		for _, g := range r.Targets {
			if g.State == bench.Miss {
				names = append(names, strings.TrimSpace(g.Name))
			}
		}
	}
	return names
}
