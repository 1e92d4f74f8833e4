// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"errors"
	"strings"
	"testing"

	"xenvmm/gpc"
)

func TestConfigsAreJudgedBeforeAnythingIsMade(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   string // "" means it is fine
	}{
		{"as it is", func(*Config) {}, ""},
		{"no kernel", func(c *Config) { c.Kernel = nil }, "kernel kernel: the image is empty"},
		{"negative cpus", func(c *Config) { c.CPUs = -1 }, "cpus -1: give 1 to 254"},
		{"254 cpus", func(c *Config) { c.CPUs = 254 }, ""},
		{"255 cpus", func(c *Config) { c.CPUs = 255 }, "cpus 255: give 1 to 254"},
		{"31 MiB", func(c *Config) { c.Memory = 31 << 20 }, "memory 31 MiB: give at least 32 MiB"},
		{"odd memory", func(c *Config) { c.Memory = 64<<20 + 1 }, "memory 67108865 bytes: give a multiple of 4 KiB"},
		{"command line of 2047", func(c *Config) { c.Cmdline = strings.Repeat("x", 2047) }, ""},
		{"command line of 2048", func(c *Config) { c.Cmdline = strings.Repeat("x", 2048) }, "command line of 2048 characters: shorten it to at most 2047"},
		{"NUL in the command line", func(c *Config) { c.Cmdline = "ab\x00c" }, "command line of 4 characters: take out the NUL byte at position 2"},
		{"too many events", func(c *Config) { c.HostEvents = 513 }, "host events 513: give 0 to 512"},
		{"waiters", func(c *Config) { c.Waiters = -1 }, "waiters -1: give 1 to 64"},
		{"busy poll", func(c *Config) { c.BusyPoll = -1 }, "busy poll -1ns: give a time that is not negative"},
		{"trap", func(c *Config) { c.Trap = "mouse" }, "trap mouse: give one of auto, msr, kvm"},
		{"evtchn", func(c *Config) { c.Evtchn = "post" }, "evtchn post: give one of user, kernel"},
		{"irqchip", func(c *Config) { c.IRQChip = "fish" }, "irqchip fish: give one of full, split"},
		{"the kernel's events by the page", func(c *Config) { c.Evtchn, c.Trap = EvtchnKernel, TrapMSR }, "evtchn kernel: give --trap kvm with it"},
		{"the kernel's events", func(c *Config) { c.Evtchn = EvtchnKernel }, ""},
		{"guard", func(c *Config) { c.Guard = "luck" }, "guard luck: give one of " + strings.Join(gpc.Guards(), ", ")},
	} {
		cfg := Config{Kernel: []byte{1}}
		c.change(&cfg)
		err := cfg.Validate()
		var ce *ConfigError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &ce)):
			t.Errorf("%s: error %v, want a *ConfigError with %q", c.name, err, c.want)
		}
	}
}

func TestPlanNeedsNoKVM(t *testing.T) {
	if _, err := Plan(Config{Kernel: []byte("not a kernel"), KernelName: "x"}); err == nil || !strings.Contains(err.Error(), "kernel x: it cannot be booted") {
		t.Errorf("Plan of rubbish: %v", err)
	}
	if _, err := Plan(Config{Kernel: []byte{1}, Memory: 1 << 40}); err == nil || !strings.Contains(err.Error(), "512 GiB") {
		t.Errorf("Plan with too much memory: %v", err)
	}
}

func TestSizesPrintInTheLargestUnit(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 bytes", 1: "1 bytes", 4096: "4 KiB", 33 << 20: "33 MiB", 3330 << 20: "3330 MiB", 5 << 30: "5 GiB"} {
		if got := FormatBytes(n); got != want {
			t.Errorf("%d prints as %q, want %q", n, got, want)
		}
	}
}

func TestErrorsNameTheRemedyAndKeepTheCause(t *testing.T) {
	cause := errors.New("cause")
	for _, err := range []error{
		&HostError{What: "/dev/kvm", Remedy: "load it", Err: cause},
		&ConfigError{Field: "kernel", Value: "x", Remedy: "load it", Err: cause},
	} {
		if !errors.Is(err, cause) || !strings.Contains(err.Error(), "load it") || !strings.Contains(err.Error(), "cause") {
			t.Errorf("error %q", err)
		}
	}
	if _, err := New(Config{Kernel: []byte{1}, Device: "/no/such/device"}); !errors.As(err, new(*HostError)) {
		t.Errorf("a missing device gives %v, want a *HostError", err)
	}
}
