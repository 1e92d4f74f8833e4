// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// programsDir is the cgroup that holds those of all programs: its CPUs are theirs.
const programsDir = "/sys/fs/cgroup/programs"

// makePrograms makes it. With spare CPUs it gets a cpuset, and not an affinity,
// which programs may change. This has to be done before the other CPUs come up:
// the first cpuset patches the kernel's code (see onlineCPUs).
func makePrograms(spare int) error {
	if spare > 0 {
		control := filepath.Join(filepath.Dir(programsDir), "cgroup.subtree_control")
		if err := os.WriteFile(control, []byte("+cpuset"), 0); err != nil {
			return fmt.Errorf("keep %d CPUs free: %w", spare, err)
		}
	}
	if err := os.Mkdir(programsDir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make a cgroup for programs: %w", err)
	}
	return nil
}

// keepFree has programs run on all but the first spare of n CPUs.
func keepFree(spare, n int) error {
	if spare <= 0 {
		return nil
	}
	if spare >= n {
		return fmt.Errorf("%d CPUs, of which %d are to be kept free", n, spare)
	}
	rest := fmt.Sprintf("%d-%d", spare, n-1)
	if err := os.WriteFile(filepath.Join(programsDir, "cpuset.cpus"), []byte(rest), 0); err != nil {
		return fmt.Errorf("have programs run on CPUs %s: %w", rest, err)
	}
	return nil
}
