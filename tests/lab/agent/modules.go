// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// loadModules loads kernel modules in the given order. Each file is removed
// afterwards: it lies in memory.
func loadModules(files []string) error {
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("load module: %w", err)
		}
		err = unix.FinitModule(int(f.Fd()), "", 0)
		_ = f.Close()
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("load module %s: %w", file, err)
		}
		_ = os.Remove(file)
	}
	return nil
}
