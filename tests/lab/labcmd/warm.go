// SPDX-License-Identifier: Apache-2.0

package labcmd

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"xenvmm/tests/lab"
	"xenvmm/tests/lab/warm"
)

// keepForTests is how long a shared host stays after the last test program.
const keepForTests = time.Minute

// keep decides between a host of the program's own (0) and a shared one.
func (c *ExecCmd) keep() (time.Duration, error) {
	switch c.Keep {
	case "auto":
		if isTest(c.Program[1:]) {
			return keepForTests, nil
		}
		return 0, nil
	case "0", "no":
		return 0, nil
	}
	d, err := time.ParseDuration(c.Keep)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("--keep %s: want a duration such as 60s, 0 or auto", c.Keep)
	}
	return d, nil
}

// shared runs the program in a host that stays.
func (c *ExecCmd) shared(ctx context.Context, cmd lab.Cmd, sig *signals, keep time.Duration) (lab.ExitStatus, error) {
	self, err := os.Executable()
	if err != nil {
		return lab.ExitStatus{}, err
	}
	verb := c.ServeArgs
	if len(verb) == 0 {
		verb = []string{"lab", "serve"}
	}
	client := &warm.Client{Config: c.config(self), Program: self, Keep: keep, EndIfKilled: c.Keep == "auto",
		Args: slices.Concat(verb, c.args(), []string{"--keep", keep.String()})}
	cmd.Signals = sig.ToProgram
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	sig.ProgramStarts(leave) // the server kills what its client leaves
	defer sig.ProgramEnded()
	st, err := client.Exec(ctx, cmd, c.Timeout)
	return st, interruption(ctx, err)
}

// ServeCmd is the hidden verb that a shared host's server runs.
type ServeCmd struct {
	HostFlags
	Keep time.Duration `help:"How long to stay without clients." required:""`
	Self string        `kong:"-"`
}

// Run serves the socket passed as descriptor 3.
func (c *ServeCmd) Run() error {
	l, err := warm.Listener()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	self, err := initSelf(c.Self)
	if err != nil {
		return err
	}
	return warm.Serve(ctx, l, func(ctx context.Context) (warm.Host, error) { return lab.Start(ctx, c.config(self)) }, c.Keep)
}

// StopCmd is the verb stop.
type StopCmd struct{}

// Run ends all shared hosts.
func (c *StopCmd) Run() error {
	n, err := warm.Stop(context.Background())
	if err == nil {
		fmt.Printf("stopped %d shared lab hosts\n", n)
	}
	return err
}
