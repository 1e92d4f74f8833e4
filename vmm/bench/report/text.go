// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"xenvmm/vmm/bench"
)

// lineWidth is where notes are broken.
const lineWidth = 110

// Text writes reports for people, one after the other.
func Text(w io.Writer, reports ...*bench.Report) error {
	var b strings.Builder
	for i, r := range reports {
		if i > 0 {
			b.WriteString("\n\n")
		}
		text(&b, r)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func text(b *strings.Builder, r *bench.Report) {
	title := r.Name + ": " + r.Title
	if r.Partial {
		title += " (PARTIAL: ended early)"
	}
	b.WriteString(title + "\n" + strings.Repeat("=", utf8.RuneCountInString(title)) + "\n")
	head(b, r)
	for i := range r.Tables {
		t := &r.Tables[i]
		fmt.Fprintf(b, "\n%s\n\n", t.Title)
		table(b, t)
		notes(b, t.Notes)
	}
	for i := range r.Histograms {
		b.WriteString("\n")
		histogram(b, &r.Histograms[i])
	}
	if len(r.Targets) > 0 {
		b.WriteString("\nTargets\n\n")
		table(b, targets(r.Targets))
	}
	if len(r.Notes) > 0 {
		b.WriteString("\nNotes\n")
		notes(b, r.Notes)
	}
}

// head tells what the figures were measured on, and how.
func head(b *strings.Builder, r *bench.Report) {
	e := &r.Env
	line := func(name, between string, parts ...string) {
		var set []string
		for _, p := range parts {
			if p != "" {
				set = append(set, p)
			}
		}
		if len(set) > 0 {
			wrapped(b, pad(name, len("machine "), false), strings.Join(set, between))
		}
	}
	cpus := ""
	if e.CPUs > 0 {
		cpus = fmt.Sprintf("%d CPU%s", e.CPUs, plural(e.CPUs))
	}
	kernel, procs, waits, date := "", "", "", ""
	if e.Kernel != "" {
		kernel = "Linux " + e.Kernel
	}
	if e.GOMAXPROCS > 0 {
		procs = fmt.Sprintf("GOMAXPROCS %d", e.GOMAXPROCS)
	}
	if e.WaitPolicy != "" {
		waits = "guard srcu waits by " + e.WaitPolicy
	}
	if !e.Date.IsZero() {
		date = e.Date.UTC().Format("2006-01-02 15:04 UTC")
	}
	line("machine", ", ", cpus, e.CPUModel, kernel, e.GoVersion, procs, waits)
	var params []string
	for _, p := range r.Params {
		params = append(params, p.Name+" "+p.Value)
	}
	took := ""
	if r.Elapsed > 0 {
		took = "took " + r.Elapsed.Round(100*time.Millisecond).String()
	}
	line("run", "; ", append(append([]string{date}, params...), took)...)
	n := &r.Noise
	slices := ""
	if n.Slices > 0 {
		slices = fmt.Sprintf("%s of %s slices disturbed", thousands(fmt.Sprint(n.Disturbed)), thousands(fmt.Sprint(n.Slices)))
	}
	line("noise", ", ", slices, quantity(bench.Share, n.Steal)+" of the machine stolen by its host",
		quantity(bench.Share, n.Foreign)+" used by other processes")
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// notes lists them, broken into lines.
func notes(b *strings.Builder, ns []string) {
	for _, n := range ns {
		wrapped(b, "- ", n)
	}
}

// wrapped writes text after prefix, further lines below the first word.
func wrapped(b *strings.Builder, prefix, text string) {
	line := prefix
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > lineWidth:
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", len(prefix)) + word
		default:
			line += " " + word
		}
	}
	b.WriteString(line + "\n")
}
