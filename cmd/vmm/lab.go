// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strings"

	"github.com/alecthomas/kong"

	"xenvmm/tests/lab/labcmd"
)

// runsProgram tells whether a command line is that of a verb whose exit status
// is a program's. Those have exit codes of their own, labcmd's, so that a
// program's 2 isn't mistaken for a mistake on our command line.
func runsProgram(command string) bool {
	return strings.HasPrefix(command, "lab exec") || strings.HasPrefix(command, "lab shell")
}

// runProgram runs such a verb.
func runProgram(c *labcmd.Cmd, command string) int {
	if strings.HasPrefix(command, "lab shell") {
		return c.Shell.Execute(context.Background())
	}
	return c.Exec.Execute(context.Background())
}

// usageCode is the exit code for a command line that kong refuses.
func usageCode(err error) int {
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil && runsProgram(parse.Context.Command()) {
		return labcmd.CodeLabFailed
	}
	return exitUsage
}
