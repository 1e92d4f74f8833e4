// SPDX-License-Identifier: Apache-2.0

// Command labexec runs a program in a lab host: `vmm lab exec` for use from a
// source tree, above all as
//
//	go test -exec "$PWD/bin/labexec --" ./vmm/...
//
// Its exit status is the program's, or one of labcmd's.
package main

import (
	"os"

	"xenvmm/tests/lab/agent"
	"xenvmm/tests/lab/labcmd"
)

func main() {
	if agent.IsInit() {
		agent.Main()
	}
	os.Exit(labcmd.MainExec(os.Args[1:]))
}
