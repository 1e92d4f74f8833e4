// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"xenvmm/vmm/bench"
)

// benchBar is a progress bar on a terminal, or nothing.
type benchBar struct {
	s    stdio
	name string
	off  bool
	bar  *progressbar.ProgressBar // made with the first step, which knows the total
}

func newBenchBar(s stdio, off bool, name string) *benchBar {
	return &benchBar{s: s, name: name, off: off || !term.IsTerminal(int(s.err.Fd()))}
}

// step implements bench.Progress.
func (b *benchBar) step(s bench.Step) {
	if b.off {
		return
	}
	if b.bar == nil {
		b.bar = progressbar.NewOptions(s.Total,
			progressbar.OptionSetWriter(b.s.err), progressbar.OptionSetWidth(30), progressbar.OptionSetTheme(progressbar.ThemeASCII),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionUseANSICodes(true), progressbar.OptionClearOnFinish(),
			progressbar.OptionShowDescriptionAtLineEnd(), progressbar.OptionSetPredictTime(true), progressbar.OptionSetElapsedTime(true))
	}
	// A bar that cannot be drawn is not worth ending a benchmark for.
	b.bar.Describe(b.fitting(b.name + ": " + s.What))
	_ = b.bar.Set(s.Done)
}

// fitting cuts text to what is left of a line beside the bar: one that wraps
// could not be written over.
func (b *benchBar) fitting(text string) string {
	const bar = 58 // the bar, its percentage and its times
	width, _, err := term.GetSize(int(b.s.err.Fd()))
	if err != nil {
		width = 80
	}
	return text[:max(0, min(len(text), width-bar))]
}

// clear takes the bar away.
func (b *benchBar) clear() {
	if b.bar != nil {
		_ = b.bar.Finish()
		_ = b.bar.Clear()
	}
}
