// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"xenvmm/gpc"
	"xenvmm/vmm"
	"xenvmm/vmm/boot"
	"xenvmm/vmm/chardev"
)

const deviceSyntax = chardev.Syntax

func guardNames() string { return strings.Join(gpc.Guards(), ",") }

// machineFlags describe a machine; they are shared by everything that runs one.
type machineFlags struct {
	CPUs      *int          `name:"cpus" short:"c" help:"Number of vCPUs, 1 to 254." placeholder:"N"`
	Memory    *size         `short:"m" help:"Guest memory: a number with K, M, G or T (MiB without one)." placeholder:"SIZE"`
	Console   chardev.Spec  `help:"PV console: ${device_syntax}." default:"stdio" placeholder:"DEVICE"`
	Serial    chardev.Spec  `help:"Serial port COM1: ${device_syntax}." default:"off" placeholder:"DEVICE"`
	DebugPort chardev.Spec  `name:"debug-port" help:"Output of port 0xe9: ${device_syntax}." default:"off" placeholder:"DEVICE"`
	Guard     string        `help:"Guard of the frame caches: ${guards}." default:"" placeholder:"NAME"`
	BusyPoll  time.Duration `name:"busy-poll" help:"How long event threads poll after an event before they block." placeholder:"TIME"`
	Trap      string        `help:"How hypercalls are seen. msr: by a hypercall page, on any KVM. kvm: KVM intercepts them (needs CONFIG_KVM_XEN), also those of guests without such a page. auto: kvm where the host can." enum:"auto,msr,kvm" default:"auto"`
	Evtchn    string        `help:"Who delivers events. user: this program. kernel: KVM, as far as it can, for comparison (needs CONFIG_KVM_XEN and Linux 6.9)." enum:"user,kernel" default:"user"`
	IRQChip   string        `name:"irqchip" help:"Interrupt controllers. full: PIC, IOAPIC and local APICs. split: local APICs alone, so that no device has an interrupt line." enum:"full,split" default:"full"`
	Device    string        `help:"KVM device." default:"/dev/kvm" placeholder:"PATH"`
}

// console is the machine's open devices.
type console struct {
	terminal *chardev.Terminal
	stdout   *chardev.Output // nil if guest output does not go to a file of ours
	devices  []*chardev.Device
}

// Close puts the terminal back and closes the devices.
func (c *console) Close() {
	for _, d := range c.devices {
		_ = d.Close() // nothing is lost by it: output is unbuffered
	}
	c.devices = nil
	_ = c.terminal.Restore()
}

// Cut keeps guest output that nobody takes from holding the end up.
func (c *console) Cut() {
	if c.stdout != nil {
		c.stdout.Cut()
	}
}

// openStdout makes standard output one that can be cut.
func (c *console) openStdout(w io.Writer) (io.Writer, error) {
	f, ok := w.(*os.File)
	if !ok {
		return w, nil
	}
	out, err := chardev.NewOutput(f)
	if err != nil {
		return nil, err
	}
	c.stdout = out
	return &sharedWriter{w: out}, nil
}

// config lowers the flags. quit is called when a person ends the machine from
// the terminal. stdout may be replaced, so that JSON has it to itself.
func (f *machineFlags) config(s stdio, stdout io.Writer, log *slog.Logger, quit func()) (vmm.Config, *console, error) {
	cfg := vmm.Config{
		Guard: f.Guard, BusyPoll: f.BusyPoll, Device: f.Device, Log: log,
		Trap: f.Trap, Evtchn: f.Evtchn, IRQChip: f.IRQChip,
	}
	if f.CPUs != nil {
		if cfg.CPUs = *f.CPUs; cfg.CPUs == 0 {
			return cfg, nil, &vmm.ConfigError{Field: "cpus", Value: "0", Remedy: fmt.Sprintf("give 1 to %d", vmm.MaxCPUs)}
		}
	}
	if f.Memory != nil {
		if cfg.Memory = uint64(*f.Memory); cfg.Memory == 0 {
			return cfg, nil, &vmm.ConfigError{Field: "memory", Value: "0", Remedy: "give at least " + vmm.FormatBytes(vmm.MinMemory)}
		}
	}
	c := &console{terminal: chardev.NewTerminal(s.in)}
	out, err := c.openStdout(stdout)
	if err != nil {
		return cfg, nil, err
	}
	host := chardev.Host{Stdin: s.in, Stdout: out, Terminal: c.terminal, Quit: quit}
	// One reader of standard input: the PV console, or else the serial port.
	consoleInput := f.Console.Kind != chardev.Off
	for _, d := range []struct {
		name  string
		spec  chardev.Spec
		input bool
		to    *vmm.Stream
	}{
		{"console", f.Console, true, &cfg.Console},
		{"serial", f.Serial, f.Serial.Kind != chardev.Stdio || !consoleInput, &cfg.Serial},
		{"debug-port", f.DebugPort, false, nil},
	} {
		dev, err := chardev.Open(d.spec, host, d.input)
		if err != nil {
			c.Close()
			return cfg, nil, &vmm.ConfigError{Field: d.name, Value: d.spec.String(), Remedy: "it cannot be opened", Err: err}
		}
		c.devices = append(c.devices, dev)
		if dev.Path != "" {
			fmt.Fprintf(s.err, "vmm: %s is %s\n", d.name, dev.Path)
		}
		if d.to == nil {
			cfg.DebugPort = dev.Out
		} else {
			d.to.In, d.to.Out = dev.In, dev.Out
		}
	}
	return cfg, c, nil
}

// sharedWriter lets several devices write to one file.
type sharedWriter struct {
	mu sync.Mutex // held while w writes
	w  io.Writer
}

func (s *sharedWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// readFiles reads kernels and initrds whole.
func readFiles(what string, paths []string) ([]boot.File, [][]byte, error) {
	var files []boot.File
	var data [][]byte
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			return nil, nil, &vmm.ConfigError{Field: what, Value: p, Remedy: "it cannot be read", Err: err}
		}
		if len(b) == 0 {
			return nil, nil, &vmm.ConfigError{Field: what, Value: p, Remedy: "the file is empty"}
		}
		files, data = append(files, boot.Bytes(p, b)), append(data, b)
	}
	return files, data, nil
}
