// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"runtime/debug"

	"xenvmm/tests/lab/agent"
)

func main() {
	if agent.IsInit() {
		agent.Main() // this program is also what runs as process 1 of a lab host
	}
	if os.Getenv("VMM_TRACEBACK") == "" {
		// A crash of this program is told in one line; the variable brings the
		// stack back for whoever debugs it.
		debug.SetTraceback("none")
	}
	os.Exit(run(os.Args[1:], stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}
