// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"xenvmm/vmm"
	"xenvmm/vmm/bench"
	"xenvmm/vmm/bench/report"
)

// benchOutput says where results go.
type benchOutput struct {
	Format     string   `help:"text: tables. json: one document (docs/bench-format.md)." enum:"text,json" default:"text"`
	Output     string   `short:"o" help:"Write to this file instead of standard output." placeholder:"FILE"`
	Plot       []string `help:"Draw the plots to this file too, as its name ends: .svg or .png. May be repeated." placeholder:"FILE" sep:"none"`
	Save       string   `help:"Also write text, JSON and each plot as SVG and PNG to this directory." placeholder:"DIR"`
	NoProgress bool     `name:"no-progress" help:"No progress bar. There is none anyway if standard error is no terminal."`
}

// prepare finds out before a long run whether its results can be written.
func (o *benchOutput) prepare() error {
	for _, p := range o.Plot {
		if _, err := pictureFormat(p); err != nil {
			return err
		}
		if err := creatable("plot", p); err != nil {
			return err
		}
	}
	if o.Save != "" {
		if err := os.MkdirAll(o.Save, 0o777); err != nil {
			return &vmm.ConfigError{Field: "save", Value: o.Save, Remedy: "the directory cannot be made", Err: err}
		}
	}
	if o.Output != "" {
		return creatable("output", o.Output)
	}
	return nil
}

func pictureFormat(path string) (report.PictureFormat, error) {
	ext := strings.TrimPrefix(filepath.Ext(path), ".")
	for _, f := range report.PictureFormats() {
		if strings.EqualFold(ext, string(f)) {
			return f, nil
		}
	}
	return "", &vmm.ConfigError{Field: "plot", Value: path, Remedy: "give a file name that ends in .svg or .png"}
}

// creatable creates the file if it is not there, and leaves it as it is if it
// is.
func creatable(flag, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return &vmm.ConfigError{Field: flag, Value: path, Remedy: "it cannot be written", Err: err}
	}
	return f.Close()
}

// each gives out one report: its text at once, so that who waits for several
// sees them come.
func (o *benchOutput) each(s stdio, r *bench.Report, first bool) error {
	if err := o.save(r); err != nil {
		return err
	}
	if o.Format == "json" {
		return nil // one document, at the end
	}
	var b bytes.Buffer
	if !first {
		b.WriteString("\n\n")
	}
	if err := report.Text(&b, r); err != nil {
		return err
	}
	return o.write(s, b.Bytes(), first)
}

// write writes to standard output or to the file, which the first write
// empties.
func (o *benchOutput) write(s stdio, b []byte, first bool) error {
	if o.Output == "" {
		if _, err := s.out.Write(b); err != nil {
			return fmt.Errorf("print the report: %w", err)
		}
		return nil
	}
	mode := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if first {
		mode = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(o.Output, mode, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return firstOf(err, f.Close())
}

// finish gives out what is of all reports together.
func (o *benchOutput) finish(s stdio, reports []*bench.Report) error {
	if o.Format == "json" && len(reports) > 0 {
		var b bytes.Buffer
		if err := report.JSON(&b, reports...); err != nil {
			return err
		}
		if err := o.write(s, b.Bytes(), true); err != nil {
			return err
		}
	}
	var plots []bench.Plot
	for _, r := range reports {
		plots = append(plots, r.Plots...)
	}
	for _, path := range o.Plot {
		if err := draw(path, plots); err != nil {
			return fmt.Errorf("plot %s: %w", path, err)
		}
	}
	return nil
}

// save writes a report's files into the directory, by names that stay.
func (o *benchOutput) save(r *bench.Report) error {
	if o.Save == "" {
		return nil
	}
	var text, doc bytes.Buffer
	if err := firstOf(report.Text(&text, r), report.JSON(&doc, r)); err != nil {
		return err
	}
	base := filepath.Join(o.Save, r.Name)
	if err := firstOf(os.WriteFile(base+".txt", text.Bytes(), 0o666), os.WriteFile(base+".json", doc.Bytes(), 0o666)); err != nil {
		return err
	}
	for _, p := range r.Plots {
		for _, f := range report.PictureFormats() {
			err := draw(fmt.Sprintf("%s-%s.%s", base, p.ID, f), []bench.Plot{p})
			if err != nil && !errors.Is(err, report.ErrNoPlots) { // a partial report's may be empty
				return err
			}
		}
	}
	return nil
}

func draw(path string, plots []bench.Plot) error {
	format, err := pictureFormat(path)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := report.Picture(&b, format, plots...); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}
