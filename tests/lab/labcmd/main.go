// SPDX-License-Identifier: Apache-2.0

package labcmd

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"
)

// serveWord, as the first argument, makes labexec a shared host's server.
const serveWord = "--serve-shared-host"

// MainExec is the whole program labexec: the verb exec without the group.
func MainExec(args []string) int {
	if len(args) > 0 && args[0] == serveWord {
		var c ServeCmd
		if err := parse(&c, args[1:]); err != nil {
			return fail(err)
		}
		if err := c.Run(); err != nil {
			return fail(err)
		}
		return 0
	}
	c := ExecCmd{ServeArgs: []string{serveWord}}
	if err := parse(&c, args); err != nil {
		return fail(err)
	}
	return c.Execute(context.Background())
}

func parse(c any, args []string) error {
	p, err := kong.New(c, kong.Name("labexec"), kong.Description("Run a program on a machine with /dev/kvm."), kong.Writers(os.Stdout, io.Discard))
	if err != nil {
		return err
	}
	_, err = p.Parse(args)
	return err
}

func fail(err error) int {
	fmt.Fprintf(os.Stderr, "labexec: %v\n", err)
	return CodeLabFailed
}
