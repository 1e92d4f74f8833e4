// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"xenvmm/gpc"
	"xenvmm/vmm/boot"
)

// Limits of a machine.
const (
	MaxCPUs       = 254      // APIC ids above 254 need an x2APIC, which is not offered
	MinMemory     = 32 << 20 // what the test guests and small kernels need
	MaxCmdline    = boot.MaxCmdline
	MaxHostEvents = 512
)

// Stream is what one of the guest's character devices is connected to. A nil
// Out drops output, a nil In is the end of input.
type Stream struct {
	In  io.Reader
	Out io.Writer
}

// Config describes a machine. The zero value of every field but Kernel is
// usable.
type Config struct {
	// Kernel is the image to boot: a PVH ELF, or what boot.Load accepts besides.
	Kernel []byte
	// KernelName stands for it in messages.
	KernelName string
	// Initrds are passed as one module, one after the other: Linux reads only the
	// first of several modules, and takes concatenated archives.
	Initrds []boot.File
	Cmdline string

	CPUs   int    // 0 means 1
	Memory uint64 // bytes; 0 means 128 MiB

	Console   Stream // Xen PV console, and the console_io hypercall's output
	Serial    Stream // 16550A at 0x3f8, GSI 4
	DebugPort io.Writer

	// Guard names the gpc guard: one of gpc.Guards; "" is the default.
	Guard string
	// HostEvents is how many event channels are connected to the host before the
	// guest starts; see Machine.HostEvents.
	HostEvents int
	// Waiters is the number of threads that wait for host event sources; 0 means 2.
	Waiters int
	// BusyPoll is how long such a thread polls after an event before it blocks.
	BusyPoll time.Duration

	// Trap is how hypercalls are seen: one of Traps; "" is TrapAuto.
	Trap string
	// IRQChip is which interrupt controllers there are: one of IRQChips; "" is
	// IRQChipFull.
	IRQChip string
	// Evtchn is who delivers events: one of Evtchns; "" is EvtchnUser.
	Evtchn string

	// Device is the KVM device; "" means /dev/kvm.
	Device string
	// Name is the domain's name in xenstore.
	Name string
	UUID [16]byte
	Log  *slog.Logger
}

// ConfigError says what is wrong with a Config and what to do about it.
type ConfigError struct {
	Field  string // as a user knows it, such as "memory"
	Value  string
	Remedy string
	Err    error // the cause, may be nil
}

// Error implements error.
func (e *ConfigError) Error() string {
	s := e.Field
	if e.Value != "" {
		s += " " + e.Value
	}
	s += ": " + e.Remedy
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// WithDefaults returns c with what was left zero filled in.
func (c Config) WithDefaults() Config {
	if c.CPUs == 0 {
		c.CPUs = 1
	}
	if c.Memory == 0 {
		c.Memory = 128 << 20
	}
	if c.KernelName == "" {
		c.KernelName = "kernel"
	}
	if c.Guard == "" {
		c.Guard = gpc.Guards()[0]
	}
	if c.Waiters == 0 {
		c.Waiters = 2
	}
	for _, d := range []struct {
		name *string
		def  string
	}{{&c.Trap, TrapAuto}, {&c.IRQChip, IRQChipFull}, {&c.Evtchn, EvtchnUser}} {
		if *d.name == "" {
			*d.name = d.def
		}
	}
	if c.Device == "" {
		c.Device = "/dev/kvm"
	}
	if c.Name == "" {
		c.Name = "guest"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	for _, w := range []*io.Writer{&c.Console.Out, &c.Serial.Out, &c.DebugPort} {
		if *w == nil {
			*w = io.Discard
		}
	}
	return c
}

// Validate reports the first thing that no host could run, as a *ConfigError.
func (c Config) Validate() error {
	c = c.WithDefaults()
	bad := func(field string, value any, format string, args ...any) error {
		return &ConfigError{Field: field, Value: fmt.Sprint(value), Remedy: fmt.Sprintf(format, args...)}
	}
	switch {
	case len(c.Kernel) == 0:
		return bad("kernel", c.KernelName, "the image is empty; give a PVH ELF kernel")
	case c.CPUs < 1 || c.CPUs > MaxCPUs:
		return bad("cpus", c.CPUs, "give 1 to %d", MaxCPUs)
	case c.Memory < MinMemory:
		return bad("memory", FormatBytes(c.Memory), "give at least %s", FormatBytes(MinMemory))
	case c.Memory%4096 != 0:
		return bad("memory", FormatBytes(c.Memory), "give a multiple of 4 KiB")
	case strings.ContainsRune(c.Cmdline, 0):
		return bad("command line", fmt.Sprintf("of %d characters", len(c.Cmdline)), "take out the NUL byte at position %d", strings.IndexByte(c.Cmdline, 0))
	case len(c.Cmdline) > MaxCmdline:
		return bad("command line", fmt.Sprintf("of %d characters", len(c.Cmdline)), "shorten it to at most %d", MaxCmdline)
	case c.HostEvents < 0 || c.HostEvents > MaxHostEvents:
		return bad("host events", c.HostEvents, "give 0 to %d", MaxHostEvents)
	case c.Waiters < 1 || c.Waiters > 64:
		return bad("waiters", c.Waiters, "give 1 to 64")
	case c.BusyPoll < 0:
		return bad("busy poll", c.BusyPoll, "give a time that is not negative")
	}
	for _, f := range []struct {
		field, value string
		known        []string
	}{{"guard", c.Guard, gpc.Guards()}, {"trap", c.Trap, Traps()}, {"irqchip", c.IRQChip, IRQChips()}, {"evtchn", c.Evtchn, Evtchns()}} {
		if !slices.Contains(f.known, f.value) {
			return bad(f.field, f.value, "give one of %s", strings.Join(f.known, ", "))
		}
	}
	if c.Evtchn == EvtchnKernel && c.Trap == TrapMSR {
		return bad("evtchn", c.Evtchn, "give --trap kvm with it: the kernel sees a guest's sends only if it intercepts them itself")
	}
	return nil
}

// FormatBytes prints a size in the largest unit that divides it.
func FormatBytes(n uint64) string {
	for _, u := range []struct {
		shift uint
		name  string
	}{{30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if n != 0 && n%(1<<u.shift) == 0 {
			return fmt.Sprintf("%d %s", n>>u.shift, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
