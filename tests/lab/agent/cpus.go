// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// onlineCPUs brings up every CPU the machine has and returns how many run.
//
// They stay down until here because drivers, and the first VM, patch the
// kernel's code: an emulated CPU that translates an instruction while another
// patches it can keep the breakpoint that stands there for a moment, and
// crashes ("Oops: int3") whenever it comes by.
func onlineCPUs() (int, error) {
	files, err := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*/online")
	if err != nil {
		return 0, err
	}
	n := 1 // the first CPU has no such file
	for _, f := range files {
		state, err := os.ReadFile(f)
		if err != nil {
			return n, fmt.Errorf("bring up a CPU: %w", err)
		}
		if filepath.Base(filepath.Dir(f)) == "cpu0" {
			continue
		}
		if !bytes.HasPrefix(state, []byte("1")) {
			if err := os.WriteFile(f, []byte("1"), 0); err != nil {
				return n, fmt.Errorf("bring up a CPU: %w", err)
			}
		}
		n++
	}
	runtime.GOMAXPROCS(n)
	return n, nil
}
