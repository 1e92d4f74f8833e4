// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"xenvmm/vmm/bench"
)

// update writes the golden files anew: go test ./vmm/bench/report -update
var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (run with -update if this is intended):\n%s", name, d)
	}
}

func TestText(t *testing.T) {
	partial := &bench.Report{Name: "wake", Title: "nothing much", Partial: true}
	var b bytes.Buffer
	if err := Text(&b, fixture(), partial); err != nil {
		t.Fatal(err)
	}
	golden(t, "sample.txt", b.Bytes())
	for i, line := range strings.Split(b.String(), "\n") {
		if strings.TrimRight(line, " ") != line {
			t.Errorf("line %d ends in blanks: %q", i+1, line)
		}
	}
}

func TestColumnsOfTextAreAligned(t *testing.T) {
	tab := fixture().Tables[0]
	var b strings.Builder
	table(&b, &tab)
	lines := strings.Split(b.String(), "\n")
	rule := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "---") })
	if rule < 0 {
		t.Fatal(b.String())
	}
	// Between two columns there is nothing, in any line.
	for at, c := range lines[rule] {
		if c != ' ' {
			continue
		}
		for i, l := range lines {
			if r := []rune(l); strings.HasPrefix(l, publishedMark) || at >= len(r) {
				continue
			} else if r[at] != ' ' {
				t.Errorf("line %d, column %d is %q:\n%s", i+1, at+1, string(r[at]), b.String())
			}
		}
	}
}

// A table too wide for a line is written in panels that all say what a row is.
func TestWideTablesAreBrokenIntoPanels(t *testing.T) {
	tab := fixture().Tables[0]
	const more = 20
	for i := range more {
		tab.Columns = append(tab.Columns, bench.Column{Name: fmt.Sprintf("extra column %d", i), Kind: bench.Ratio})
		for r := range tab.Rows {
			tab.Rows[r] = append(tab.Rows[r], num(float64(100+i), 1, 2))
		}
	}
	var b strings.Builder
	table(&b, &tab)
	text := b.String()
	panels := 0
	for _, line := range strings.Split(text, "\n") {
		if n := utf8.RuneCountInString(line); n > tableWidth {
			t.Errorf("a line of %d characters: %q", n, line)
		}
		if strings.HasPrefix(line, "threads  guard ") {
			panels++
		}
	}
	if panels < 3 || strings.Count(text, "rwlock") != panels+1 { // and "to rwlock"
		t.Errorf("%d panels:\n%s", panels, text)
	}
	for i := range more {
		if n := strings.Count(text, fmt.Sprint(100+i)+" (1.00..2.00)"); n != len(tab.Rows) {
			t.Errorf("extra column %d stands %d times, want %d", i, n, len(tab.Rows))
		}
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, fixture()); err != nil {
		t.Fatal(err)
	}
	golden(t, "sample.json", b.Bytes())
	got, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]*bench.Report{fixture()}, got); d != "" {
		t.Errorf("not what was written:\n%s", d)
	}
}

// Whatever stands in a text, joining lines changes no value.
func TestCompactJSONIsTheSame(t *testing.T) {
	for _, text := range []string{"", "{", "}", "[", "]", "a {", "x\n", `"`, `\`, "],", "{}", "µ", strings.Repeat("long ", 50)} {
		r := &bench.Report{Name: text, Notes: []string{text, text}, Tables: []bench.Table{{ID: text, Rows: [][]bench.Cell{{{Text: text}}, {}, nil}}}}
		var b bytes.Buffer
		if err := JSON(&b, r); err != nil {
			t.Fatal(err)
		}
		got, err := Read(&b)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if d := cmp.Diff(r, got[0]); d != "" {
			t.Errorf("%q: not what was written:\n%s", text, d)
		}
	}
}

func TestOnlyJSONOfThisFormatIsRead(t *testing.T) {
	for _, text := range []string{``, `[]`, `{"format": 2, "reports": []}`, `{"reports": []}`, `{"format": 1, "reports": [{"name": "x", "colour": 3}]}`} {
		if r, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%s was read as %v", text, r)
		}
	}
	if r, err := Read(strings.NewReader(`{"format": 1, "reports": []}`)); err != nil || len(r) != 0 {
		t.Errorf("an empty document: %v, %v", r, err)
	}
}

// docs/bench-format.md names every field of the document.
func TestEveryFieldIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/bench-format.md")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	f := fixture()
	f.Partial = true
	if err := JSON(&b, f); err != nil {
		t.Fatal(err)
	}
	fields := map[string]bool{}
	for _, m := range regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(b.String(), -1) {
		fields[m[1]] = true
	}
	if len(fields) < 50 {
		t.Errorf("only %d fields found: %v", len(fields), fields)
	}
	for name := range fields {
		if !strings.Contains(string(doc), "`"+name+"`") {
			t.Errorf("docs/bench-format.md does not mention `%s`", name)
		}
	}
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for _, c := range []struct {
		kind bench.Kind
		v    float64
		want string
	}{
		{bench.Duration, 0, "0 ns"}, {bench.Duration, 4.2, "4.20 ns"}, {bench.Duration, 999.6, "1,000 ns"}, {bench.Duration, 1500, "1.50 µs"},
		{bench.Duration, 79e3, "79.0 µs"}, {bench.Duration, 24e6, "24.0 ms"}, {bench.Duration, 90e9, "90.0 s"}, {bench.Duration, 0.31, "0.310 ns"},
		{bench.Rate, 50.48e6, "50.5 M/s"}, {bench.Rate, 202, "202 /s"}, {bench.Rate, 3.45e6, "3.45 M/s"}, {bench.Rate, 2.5e9, "2.50 G/s"},
		{bench.Share, 0.9935, "99.4 %"}, {bench.Share, 0.0007, "0.070 %"}, {bench.Share, 0.0000007, "7e-05 %"}, {bench.Share, 1, "100 %"},
		{bench.Ratio, 5.123, "5.12x"}, {bench.Ratio, 0.95, "0.950x"}, {bench.Ratio, 12.34, "12.3x"}, {bench.Count, 1234567, "1,234,567"}, {bench.Count, 0, "0"},
	} {
		if got := quantity(c.kind, c.v); got != c.want {
			t.Errorf("%s %v is %q, want %q", c.kind, c.v, got, c.want)
		}
	}
}

func TestMissedTargetsAreNamed(t *testing.T) {
	if got := Missed(fixture(), &bench.Report{}); !slices.Equal(got, []string{"drain-max"}) {
		t.Errorf("missed %v", got)
	}
}
