// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"strings"
	"unicode/utf8"

	"xenvmm/vmm/bench"
)

// publishedMark stands behind the heading of a column with figures of others.
const publishedMark = "*"

// A column of text: what stands in it, line by line, and to which side. A
// column of numbers is three of these beside each other: the medians to the
// right, their spread to the left, and text to the left.
type textColumn struct {
	cells []string
	right bool
}

func (c *textColumn) width() int {
	w := 0
	for _, s := range c.cells {
		w = max(w, utf8.RuneCountInString(s))
	}
	return w
}

// block is one column of a table with its heading, which may be wider than
// what stands below it.
type block struct {
	name, unit string
	parts      []textColumn
	right      bool // the heading stands to the right, as the numbers do
}

const (
	gap        = 2
	minHeading = 9   // a heading is not made narrower than this
	tableWidth = 164 // where a table is broken into panels
)

func (b *block) width() int {
	inner := 0
	for i := range b.parts {
		if w := b.parts[i].width(); w > 0 {
			if inner > 0 {
				inner++
			}
			inner += w
		}
	}
	// A heading longer than what it heads is broken between words.
	for _, word := range strings.Fields(b.name) {
		inner = max(inner, utf8.RuneCountInString(word))
	}
	return max(inner, min(minHeading, utf8.RuneCountInString(b.name)), utf8.RuneCountInString(b.unit))
}

// heading is the name in lines that fit.
func (b *block) heading() []string {
	var lines []string
	for _, word := range strings.Fields(b.name) {
		last := len(lines) - 1
		if last >= 0 && utf8.RuneCountInString(lines[last]+" "+word) <= b.width() {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// line is the text of a row, padded to the block's width.
func (b *block) line(row int) string {
	var s string
	for i := range b.parts {
		p := &b.parts[i]
		w := p.width()
		if w == 0 {
			continue
		}
		if s != "" {
			s += " "
		}
		s += pad(p.cells[row], w, p.right)
	}
	return pad(s, b.width(), b.right)
}

func pad(s string, width int, right bool) string {
	n := width - utf8.RuneCountInString(s)
	if n <= 0 {
		return s
	}
	if right {
		return strings.Repeat(" ", n) + s
	}
	return s + strings.Repeat(" ", n)
}

// blockOf lays out column c of t.
func blockOf(t *bench.Table, c int) block {
	col := t.Columns[c]
	b := block{name: col.Name}
	if col.Published {
		b.name += publishedMark
	}
	if col.Kind == bench.Label {
		p := textColumn{}
		for _, row := range t.Rows {
			p.cells = append(p.cells, cellOf(row, c).Text)
		}
		b.parts = []textColumn{p}
		return b
	}
	var values []float64
	spread := false
	for _, row := range t.Rows {
		if n := cellOf(row, c).Number; n != nil {
			values = append(values, n.Median)
			spread = spread || n.Min != n.Max
		}
	}
	u := unitFor(col.Kind, values)
	b.unit, b.right = u.name, true
	number, around, text := textColumn{right: true}, textColumn{}, textColumn{}
	for _, row := range t.Rows {
		cell := cellOf(row, c)
		var n, a string
		switch {
		case cell.Number != nil:
			n = u.text(col.Kind, cell.Number.Median)
			if cell.Number.Min != cell.Number.Max {
				a = "(" + u.text(col.Kind, cell.Number.Min) + ".." + u.text(col.Kind, cell.Number.Max) + ")"
			}
		case cell.Text == "":
			n = "-"
		}
		number.cells, around.cells, text.cells = append(number.cells, n), append(around.cells, a), append(text.cells, cell.Text)
	}
	b.parts = []textColumn{number, around, text}
	if spread || text.width() > 0 {
		// What follows the number is to the left; a heading to the right would
		// stand over something else.
		b.right = false
	}
	return b
}

func cellOf(row []bench.Cell, c int) bench.Cell {
	if c < len(row) {
		return row[c]
	}
	return bench.Cell{}
}

// table writes t. One that is wider than tableWidth is written in panels below
// each other, with the labels in each. Columns without anything in them are
// left out.
func table(w *strings.Builder, t *bench.Table) {
	var labels, numbers []block
	published := false
	for c := range t.Columns {
		switch {
		case t.Columns[c].Kind == bench.Label:
			labels = append(labels, blockOf(t, c))
		case filled(t, c):
			numbers = append(numbers, blockOf(t, c))
			published = published || t.Columns[c].Published
		}
	}
	group := grouping(t)
	for first := true; first || len(numbers) > 0; first = false {
		if !first {
			w.WriteString("\n")
		}
		n := fitting(labels, numbers)
		panel(w, t, append(slices.Clone(labels), numbers[:n]...), group)
		numbers = numbers[n:]
	}
	if published {
		w.WriteString(publishedMark + " published by the kernel series, on other machines; not measured here\n")
	}
}

// fitting is how many of the numbers fit beside the labels; at least one, if
// there is one.
func fitting(labels, numbers []block) int {
	width := -gap
	for i := range labels {
		width += gap + labels[i].width()
	}
	for i := range numbers {
		width += gap + numbers[i].width()
		if width > tableWidth && i > 0 {
			return i
		}
	}
	return len(numbers)
}

// panel writes headings, units, a rule, and the rows in groups.
func panel(w *strings.Builder, t *bench.Table, blocks []block, group int) {
	emit := func(part func(b *block) string) {
		var line string
		for i := range blocks {
			if i > 0 {
				line += strings.Repeat(" ", gap)
			}
			line += part(&blocks[i])
		}
		w.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	tallest, units := 0, false
	for i := range blocks {
		tallest = max(tallest, len(blocks[i].heading()))
		units = units || blocks[i].unit != ""
	}
	for line := range tallest {
		emit(func(b *block) string {
			h := b.heading()
			if at := line - (tallest - len(h)); at >= 0 {
				return pad(h[at], b.width(), b.right)
			}
			return pad("", b.width(), false)
		})
	}
	if units {
		emit(func(b *block) string { return pad(b.unit, b.width(), b.right) })
	}
	emit(func(b *block) string { return strings.Repeat("-", b.width()) })
	for row := range t.Rows {
		if row > 0 && group >= 0 && cellOf(t.Rows[row], group).Text != cellOf(t.Rows[row-1], group).Text {
			w.WriteString("\n")
		}
		emit(func(b *block) string { return b.line(row) })
	}
}

// grouping is the named label column by which the rows of t fall into the
// fewest groups, or -1 if there are none of more than one row.
func grouping(t *bench.Table) int {
	best, fewest := -1, len(t.Rows)-1
	for c, col := range t.Columns {
		changes := 0
		for row := 1; row < len(t.Rows); row++ {
			if cellOf(t.Rows[row], c).Text != cellOf(t.Rows[row-1], c).Text {
				changes++
			}
		}
		if col.Kind == bench.Label && col.Name != "" && changes > 0 && changes < fewest {
			best, fewest = c, changes
		}
	}
	return best
}

// filled tells whether there is anything in column c.
func filled(t *bench.Table, c int) bool {
	for _, row := range t.Rows {
		if cell := cellOf(row, c); cell.Number != nil || cell.Text != "" {
			return true
		}
	}
	return false
}
