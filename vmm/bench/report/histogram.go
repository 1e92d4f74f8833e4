// SPDX-License-Identifier: Apache-2.0

package report

import (
	"maps"
	"slices"
	"strings"

	"xenvmm/vmm/bench"
)

// histogram writes the buckets of all series side by side.
func histogram(b *strings.Builder, h *bench.Histogram) {
	b.WriteString(h.Title + "\n\n")
	tops := map[float64]float64{} // low -> high, of every bucket that anybody filled
	for _, s := range h.Series {
		for _, k := range s.Buckets {
			if k.Count > 0 {
				tops[k.Low] = k.High
			}
		}
	}
	t := &bench.Table{Columns: []bench.Column{{ID: "from", Name: "from", Kind: bench.Label}, {ID: "to", Name: "to", Kind: bench.Label}}}
	for _, s := range h.Series {
		t.Columns = append(t.Columns, bench.Column{ID: s.Name, Name: s.Name, Kind: bench.Count})
	}
	for _, low := range slices.Sorted(maps.Keys(tops)) {
		row := []bench.Cell{{Text: quantity(bench.Duration, low)}, {Text: quantity(bench.Duration, tops[low])}}
		for _, s := range h.Series {
			i := slices.IndexFunc(s.Buckets, func(k bench.Bucket) bool { return k.Low == low && k.Count > 0 })
			if i < 0 {
				row = append(row, bench.Cell{Text: " "})
				continue
			}
			n := float64(s.Buckets[i].Count)
			row = append(row, bench.Cell{Number: &bench.Number{Median: n, Min: n, Max: n, N: 1}})
		}
		t.Rows = append(t.Rows, row)
	}
	table(b, t)
}
