// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"xenvmm/guest"
	"xenvmm/vmm"
)

// runCmd is vmm run.
type runCmd struct {
	Kernel  string        `arg:"" optional:"" help:"Kernel to boot: a PVH ELF. Without one: the embedded event storm." placeholder:"KERNEL"`
	Guest   string        `help:"Run an embedded guest test instead: ${guests}." placeholder:"NAME"`
	Initrd  []string      `help:"Initial RAM disk; may be given several times." placeholder:"FILE"`
	Cmdline string        `help:"Kernel command line." placeholder:"TEXT"`
	Timeout time.Duration `help:"End the guest after this time, with exit code 124; 0 means never." placeholder:"TIME"`
	JSON    bool          `name:"json" help:"Print the result as one JSON object; guest output then goes to standard error."`
	DryRun  bool          `name:"dry-run" help:"Show what would be run and where it would be placed, without KVM."`

	machineFlags `embed:""`
	stormFlags   `embed:""`
}

// Run implements the verb.
func (r *runCmd) Run(s stdio, log *slog.Logger) error {
	if r.Timeout < 0 {
		return &vmm.ConfigError{Field: "timeout", Value: r.Timeout.String(), Remedy: "give a time that is not negative; 0 means none"}
	}
	if r.Kernel == "" && r.Guest == "" {
		return r.storm(s, log)
	}
	return r.kernel(s, log)
}

// context ends by a signal, the time limit, or Ctrl-a x.
func (r *runCmd) context() (ctx context.Context, quit func(), stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	sigs := make(chan os.Signal, 1)
	signal.Notify(sigs, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		select {
		case sig := <-sigs:
			cancel(signalled{sig})
		case <-done:
		}
	}()
	stops := []func(){func() { signal.Stop(sigs); close(done) }}
	if r.Timeout > 0 {
		var c context.CancelFunc
		ctx, c = context.WithTimeout(ctx, r.Timeout)
		stops = append(stops, c)
	}
	return ctx, func() { cancel(signalled{syscall.SIGINT}) }, func() {
		for _, f := range stops {
			f()
		}
	}
}

// guestOut is where guest output goes: standard output, unless that is for
// JSON alone.
func (r *runCmd) guestOut(s stdio) io.Writer {
	if r.JSON {
		return s.err
	}
	return s.out
}

// image reads the kernel, or takes the embedded one.
func (r *runCmd) image() (data []byte, name string, err error) {
	if r.Guest == "" {
		_, data, err := readFiles("kernel", []string{r.Kernel})
		if err != nil {
			return nil, "", err
		}
		return data[0], r.Kernel, nil
	}
	if r.Kernel != "" {
		return nil, "", &vmm.ConfigError{Field: "guest", Value: r.Guest, Remedy: "give either a kernel or an embedded guest"}
	}
	data, ok := guest.Image(r.Guest)
	if !ok {
		return nil, "", &vmm.ConfigError{Field: "guest", Value: r.Guest, Remedy: "give one of " + strings.Join(guest.Names(), ", ")}
	}
	return data, r.Guest, nil
}

// kernel runs a given kernel.
func (r *runCmd) kernel(s stdio, log *slog.Logger) (err error) {
	ctx, quit, stop := r.context()
	defer stop()
	kernel, name, err := r.image()
	if err != nil {
		return err
	}
	initrds, _, err := readFiles("initrd", r.Initrd)
	if err != nil {
		return err
	}
	if r.DryRun {
		cfg := vmm.Config{Kernel: kernel, KernelName: name, Initrds: initrds, Cmdline: r.Cmdline}
		return r.dryRun(cfg, s)
	}
	cfg, con, err := r.config(s, r.guestOut(s), log, quit)
	if err != nil {
		return err
	}
	defer con.Close()
	defer context.AfterFunc(ctx, con.Cut)()
	cfg.Kernel, cfg.KernelName, cfg.Initrds, cfg.Cmdline = kernel, name, initrds, r.Cmdline
	m, err := vmm.New(cfg)
	if err != nil {
		return err
	}
	if err := m.Start(); err != nil {
		_ = m.Close()
		return err
	}
	status := m.Wait(ctx)
	closeErr := m.Close()
	con.Close()
	if err := r.printStatus(status, s); err != nil {
		return err
	}
	if closeErr != nil {
		return fmt.Errorf("close the machine: %w", closeErr)
	}
	return ended(ctx, status)
}

// ended is the exit code for a guest's end, nil for success.
func ended(ctx context.Context, s vmm.Status) error {
	if s.Ending == vmm.Closed {
		if c := context.Cause(ctx); c != nil {
			return exitCode(codeOf(c))
		}
	}
	if code := codeOfStatus(s); code != exitOK {
		return exitCode(code)
	}
	return nil
}

// printStatus tells how the guest ended: in JSON always, else only if it is
// not what everybody hopes for.
func (r *runCmd) printStatus(status vmm.Status, s stdio) error {
	if r.JSON {
		return printJSON(s.out, struct {
			vmm.Status
			ExitCode int `json:"exit_code"`
		}{status, codeOfStatus(status)})
	}
	if status.Ending != vmm.Poweroff {
		complain(s.err, status)
	}
	return nil
}

// complain tells where a guest died or got stuck, with its last words if they may
// have gone elsewhere.
func complain(w io.Writer, status vmm.Status) {
	fmt.Fprintf(w, "vmm: %s\n", status)
	if status.Ending == vmm.Closed || status.Ending == vmm.Reboot {
		return
	}
	for _, line := range status.Diagnosis.Lines() {
		fmt.Fprintf(w, "vmm: %s\n", line)
	}
	const last = 15
	tail := status.Tail
	if len(tail) > last {
		tail = tail[len(tail)-last:]
	}
	for _, line := range tail {
		fmt.Fprintf(w, "vmm: console: %s\n", line)
	}
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
