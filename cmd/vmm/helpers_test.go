// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"xenvmm/guest"
	"xenvmm/vmm"
)

func writeGuests(dir string) error {
	for _, name := range guest.Names() {
		b, _ := guest.Image(name)
		if err := os.WriteFile(filepath.Join(dir, name+".elf"), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func containsLine(text, prefix string) bool {
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, prefix) {
			return true
		}
	}
	return false
}

func TestSizesOfMemory(t *testing.T) {
	for text, want := range map[string]uint64{
		"33M": 33 << 20, "128": 128 << 20, "3330m": 3330 << 20, "4G": 4 << 30, "5GiB": 5 << 30, "1T": 1 << 40,
		"4096K": 4 << 20, "0": 0, "2GB": 2 << 30, " 1g ": 1 << 30,
	} {
		var s size
		if err := s.UnmarshalText([]byte(text)); err != nil || uint64(s) != want {
			t.Errorf("%q is %d, %v; want %d", text, uint64(s), err, want)
		}
	}
	for _, text := range []string{"", "-1", "M", "1X", "1.5G", "99999999999T", "0x10", "G1", "1 M M"} {
		var s size
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken as %d bytes", text, uint64(s))
		}
	}
}

func TestEveryEndingHasItsExitCode(t *testing.T) {
	failed, passed := &vmm.Verdict{Name: "x", Result: vmm.Fail}, &vmm.Verdict{Name: "x", Result: vmm.Pass}
	for _, c := range []struct {
		s    vmm.Status
		want int
	}{
		{vmm.Status{Ending: vmm.Poweroff}, 0},
		{vmm.Status{Ending: vmm.Poweroff, Verdict: passed}, 0},
		{vmm.Status{Ending: vmm.Poweroff, Verdict: failed}, 10},
		{vmm.Status{Ending: vmm.Crash, Verdict: failed}, 10},
		{vmm.Status{Ending: vmm.Crash, Verdict: passed}, 11},
		{vmm.Status{Ending: vmm.TripleFault}, 12},
		{vmm.Status{Ending: vmm.Reboot}, 13},
		{vmm.Status{Ending: vmm.Watchdog}, 14},
		{vmm.Status{Ending: vmm.Stuck}, 15},
		{vmm.Status{Ending: vmm.Timeout}, 124},
		{vmm.Status{Ending: vmm.HostFailure}, 1},
	} {
		if got := codeOfStatus(c.s); got != c.want {
			t.Errorf("%s: exit code %d, want %d", c.s.Ending, got, c.want)
		}
	}
}

func TestEveryErrorHasItsExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{&vmm.ConfigError{}, 2},
		{fmt.Errorf("x: %w", &vmm.ConfigError{}), 2},
		{&usageError{errors.New("x")}, 2},
		{&vmm.HostError{}, 3},
		{errors.Join(&vmm.HostError{}, nil), 3},
		{signalled{syscall.SIGTERM}, 143},
		{signalled{syscall.SIGINT}, 130},
		{errors.New("x"), 1},
	} {
		if got := codeOf(c.err); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
	}
}

func TestErrorsAreOneLine(t *testing.T) {
	if got := oneLine(errors.Join(errors.New("a"), errors.New("b\nc"))); got != "a; b; c" {
		t.Errorf("got %q", got)
	}
}
