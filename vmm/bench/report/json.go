// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"xenvmm/vmm/bench"
)

// Format is the version of the JSON document.
const Format = 1

// document is what JSON writes.
type document struct {
	Format  int             `json:"format"`
	Reports []*bench.Report `json:"reports"`
}

// JSON writes reports as one document.
func JSON(w io.Writer, reports ...*bench.Report) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", indent)
	e.SetEscapeHTML(false)
	if err := e.Encode(document{Format: Format, Reports: reports}); err != nil {
		return fmt.Errorf("write a benchmark's JSON: %w", err)
	}
	_, err := io.WriteString(w, compact(b.String()))
	return err
}

const (
	indent    = "  "
	jsonWidth = 120 // what fits into a line of this width stands in one
)

// compact puts each object and list of indented JSON that is short enough into
// one line. A plot has hundreds of points; six lines for each hide the rest.
func compact(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var out []string
	var open []int // where in out each object or list begins that has not ended
	for _, line := range lines {
		out = append(out, line)
		// A line that ends in a bracket opens one: strings end in a quote.
		switch last := line[len(line)-1]; {
		case last == '{' || last == '[':
			open = append(open, len(out)-1)
			continue
		case !strings.ContainsAny(strings.TrimSpace(line)[:1], "}]"):
			continue
		}
		start := open[len(open)-1]
		open = open[:len(open)-1]
		if one, ok := oneLineOf(out[start:]); ok {
			out = append(out[:start], one)
		}
	}
	return strings.Join(out, "\n") + "\n"
}

// oneLineOf joins the lines of one object or list, unless it gets too long or
// holds one that is too long itself.
func oneLineOf(lines []string) (string, bool) {
	length := len(lines[0])
	for _, l := range lines[1:] {
		length += 1 + len(strings.TrimSpace(l))
	}
	if length > jsonWidth {
		return "", false
	}
	var b strings.Builder
	b.WriteString(lines[0])
	for i, l := range lines[1:] {
		if i > 0 && i < len(lines)-2 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.TrimSpace(l))
	}
	return b.String(), true
}

// Read reads a document that JSON wrote. A field that it does not know is an
// error: it would be lost.
func Read(r io.Reader) ([]*bench.Report, error) {
	var d document
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return nil, fmt.Errorf("read a benchmark's JSON: %w", err)
	}
	if d.Format != Format {
		return nil, fmt.Errorf("read a benchmark's JSON: format %d: want format %d", d.Format, Format)
	}
	return d.Reports, nil
}
