// SPDX-License-Identifier: Apache-2.0

package labcmd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/term"

	"xenvmm/tests/lab"
)

// ShellCmd is the verb shell.
type ShellCmd struct {
	HostFlags
	JobFlags
	Bare    bool     `help:"Bring no tools but those of --tool."`
	Program []string `arg:"" optional:"" passthrough:"partial" help:"Program to run on the terminal; default: bash, or sh."`

	// Self: see ExecCmd.
	Self string `kong:"-"`
}

// Help is shown by --help below the summary.
func (*ShellCmd) Help() string {
	return `A lab host has no shell and no tools of its own. This brings a shell of this machine's, with its libraries and what is here of the usual tools (ls, ps, dmesg, mount, lspci, ip, strace, ...), and connects it to the terminal; --tool and --file bring more. Leave with 'exit' or Ctrl-D; '~.' at the beginning of a line ends the host at once. Nothing in the host stays.

If standard input is no terminal, the shell reads its commands from there.

` + exitHelp
}

// Execute runs the shell and returns the exit status.
func (c *ShellCmd) Execute(ctx context.Context) int {
	st, err := c.execute(ctx)
	return Code(st, err, os.Stderr)
}

func (c *ShellCmd) execute(ctx context.Context) (lab.ExitStatus, error) {
	c.Program = withoutDashes(c.Program)
	if len(c.Program) == 0 {
		c.Program = []string{"sh"}
		// Not $SHELL: others than these two need more than their libraries.
		if _, err := exec.LookPath("bash"); err == nil {
			c.Program = []string{"bash"}
		}
	}
	cmd, err := c.command(c.Program[0], c.Program[1:])
	if err != nil {
		return lab.ExitStatus{}, err
	}
	if !c.Bare {
		cmd.Programs = append(cmd.Programs, usualTools(exec.LookPath)...)
	}
	if filepath.Base(cmd.Path) == "bash" {
		cmd.Env = append(cmd.Env, `PS1=\h:\w\$ `)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	self, err := initSelf(c.Self)
	if err != nil {
		return lab.ExitStatus{}, err
	}
	ctx, sig, stop := catchSignals(ctx)
	defer stop()
	if !term.IsTerminal(0) {
		return runAlone(ctx, c.config(self), cmd, sig, 0)
	}
	cmd.Files = append(cmd.Files, terminfo(os.Getenv("TERM"), "/")...)
	fmt.Fprintf(os.Stderr, "lab: booting %s: leave the shell with exit or Ctrl-D, end the host with ~. at the beginning of a line\n", c.Host)
	t := &terminal{file: os.Stdin, escape: sig.giveUp}
	return runAlone(ctx, c.config(self), cmd, sig, 0, t.attach)
}
