// SPDX-License-Identifier: Apache-2.0

// Command labinit is the init of a lab host, for libraries and test programs
// that aren't one themselves.
package main

import (
	"fmt"
	"os"

	"xenvmm/tests/lab/agent"
)

func main() {
	if !agent.IsInit() {
		fmt.Fprintln(os.Stderr, "labinit: only the init of a lab host; use `vmm lab exec`")
		os.Exit(2)
	}
	agent.Main()
}
