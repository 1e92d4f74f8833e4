// SPDX-License-Identifier: Apache-2.0

package labcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/term"

	"xenvmm/tests/lab"
	"xenvmm/tests/lab/warm"
)

// ExecCmd is the verb exec.
type ExecCmd struct {
	HostFlags
	JobFlags
	Timeout time.Duration `help:"Stop the program after this time: SIGQUIT, then SIGKILL. 0: never." default:"0" placeholder:"DURATION"`
	Console string        `help:"Write the host's console to this file; implies --keep=0." placeholder:"FILE"`
	Keep    string        `help:"Share a host with other programs, and leave it for this long. 0: a host for this program alone. auto: for Go test programs 60s, unless this command is killed, for others 0." default:"auto" placeholder:"DURATION"`
	Program []string      `arg:"" passthrough:"partial" help:"Program and its arguments."`

	// Self, set by whoever embeds the command, is a program that is a lab
	// host's init when run as one (agent.IsInit); empty: the running program.
	Self string `kong:"-"`
	// ServeArgs are the arguments with which the running program runs ServeCmd;
	// empty: "lab serve", as in Cmd's place in vmm.
	ServeArgs []string `kong:"-"`
}

// Help is shown by --help below the summary.
func (*ExecCmd) Help() string {
	return `The program runs as root, in a directory tree of its own that holds it, the libraries or the interpreter it needs, what --file and --tool name, and /proc, /sys, /dev and /tmp. Standard input that isn't a terminal goes to it. For a Go test program the files of its package come along, and profiles, coverage and traces come back, so that 'go test -exec "vmm lab exec --" ./...' works as without -exec.

SIGINT, SIGTERM, SIGQUIT and SIGHUP go to the program. After SIGTERM or SIGHUP it has 10 s, and the third signal ends the host at once.

` + exitHelp
}

// Execute runs the program and returns the exit status.
func (c *ExecCmd) Execute(ctx context.Context) int {
	st, err := c.execute(ctx)
	return Code(st, err, os.Stderr)
}

func (c *ExecCmd) execute(ctx context.Context) (lab.ExitStatus, error) {
	c.Program = withoutDashes(c.Program)
	if len(c.Program) == 0 {
		return lab.ExitStatus{}, errors.New("lab exec: no program given: lab exec [flags] -- PROGRAM ARGS")
	}
	keep, err := c.keep()
	if err != nil {
		return lab.ExitStatus{}, err
	}
	cmd, err := c.command(c.Program[0], c.Program[1:])
	if err == nil {
		err = addTestFiles(&cmd)
	}
	if err != nil {
		return lab.ExitStatus{}, err
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if !term.IsTerminal(0) {
		cmd.Stdin = os.Stdin
	}
	ctx, sig, stop := catchSignals(ctx)
	defer stop()
	if keep > 0 && c.Console == "" {
		return c.shared(ctx, cmd, sig, keep)
	}
	return c.alone(ctx, cmd, sig)
}

// withoutDashes is what follows "--".
func withoutDashes(args []string) []string {
	if len(args) > 0 && args[0] == "--" {
		return args[1:]
	}
	return args
}

// alone runs the program in a host of its own.
func (c *ExecCmd) alone(ctx context.Context, cmd lab.Cmd, sig *signals) (lab.ExitStatus, error) {
	self, err := initSelf(c.Self)
	if err != nil {
		return lab.ExitStatus{}, err
	}
	cfg := c.config(self)
	if c.Console != "" {
		f, err := os.Create(c.Console)
		if err != nil {
			return lab.ExitStatus{}, err
		}
		defer f.Close()
		cfg.Console = f
	}
	return runAlone(ctx, cfg, cmd, sig, c.Timeout)
}

// runAlone boots a host for one program, and calls each attach when it is
// there. A signal that ended the command is the error, whatever else it led to.
func runAlone(ctx context.Context, cfg lab.Config, cmd lab.Cmd, sig *signals, timeout time.Duration,
	attach ...func(*lab.Cmd) (detach func(), err error)) (lab.ExitStatus, error) {
	h, err := lab.Start(ctx, cfg)
	if err != nil {
		return lab.ExitStatus{}, interruption(ctx, err)
	}
	defer h.Close()
	sig.ProgramStarts(func() { _ = h.Close() })
	defer sig.ProgramEnded()
	cmd.Signals = sig.ToProgram
	for _, a := range attach {
		detach, err := a(&cmd)
		if err != nil {
			return lab.ExitStatus{}, err
		}
		defer detach()
	}
	limited := ctx
	if timeout > 0 {
		var stop context.CancelFunc
		limited, stop = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%w: %v", errTimeout, timeout))
		defer stop()
	}
	st, err := h.Exec(limited, cmd)
	return st, interruption(ctx, err)
}

// interruption is the signal that ended ctx, where one did, else err.
func interruption(ctx context.Context, err error) error {
	var sig warm.Interrupted
	if err != nil && errors.As(context.Cause(ctx), &sig) {
		return sig
	}
	return err
}
