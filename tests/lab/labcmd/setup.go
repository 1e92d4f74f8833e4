// SPDX-License-Identifier: Apache-2.0

package labcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"xenvmm/tests/lab/kernel"
)

// Cmd is the verb group lab, for cmd/vmm. Exec and Shell end with a program's
// exit status: see Execute.
type Cmd struct {
	Exec  ExecCmd  `cmd:"" help:"Run a program on a machine with /dev/kvm."`
	Shell ShellCmd `cmd:"" help:"Look around in such a machine: a shell on the terminal."`
	Setup SetupCmd `cmd:"" help:"Download and prepare kernels for lab hosts and guests."`
	List  ListCmd  `cmd:"" help:"List those kernels."`
	Stop  StopCmd  `cmd:"" help:"End the shared lab hosts left by 'lab exec --keep'."`
	Serve ServeCmd `cmd:"" hidden:"" help:"Serve a shared lab host on descriptor 3."`
}

// SetupCmd is the verb setup.
type SetupCmd struct {
	Hosts  []string `arg:"" optional:"" help:"Kernels to prepare, see 'lab list'; default: all." placeholder:"NAME"`
	Update bool     `help:"Look for newer packages."`
	Deb    string   `help:"Use this package file instead of asking apt; needs exactly one name." placeholder:"FILE"`
}

// Help is shown by --help below the summary.
func (*SetupCmd) Help() string {
	return `Debian packages are downloaded through apt, unpacked without being installed, and kept in the cache: $XENVMM_LAB_CACHE, or xenvmm/lab in the user's cache directory. What is there is verified; an interrupted download goes on where it stopped. The emulator itself, the package qemu-system-x86, is installed if it is missing and this is root. 'lab exec' and 'lab shell' do the same for the host they need.`
}

// Run prepares hosts.
func (c *SetupCmd) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if c.Deb != "" && len(c.Hosts) != 1 {
		return errors.New("lab setup: --deb needs exactly one name")
	}
	names := c.Hosts
	if len(names) == 0 {
		for _, s := range kernel.Specs() {
			names = append(names, s.Name)
		}
	}
	// One that can't be had, as an old kernel on a new distribution, doesn't
	// keep the others away.
	var errs []error
	for _, n := range names {
		k, err := kernel.Setup(ctx, n, kernel.SetupOptions{Update: c.Update, Deb: c.Deb,
			Note: func(format string, args ...any) {
				fmt.Fprintf(os.Stderr, "lab: %s: "+format+"\n", append([]any{n}, args...)...)
			}})
		if ctx.Err() != nil {
			return errors.Join(append(errs, err)...)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Printf("%s: ready: kernel %s\n", k.Name, k.Release)
	}
	return errors.Join(errs...)
}
