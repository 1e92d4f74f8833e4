// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"

	"xenvmm/tests/lab/kernel"
)

// initPackage is the init built where the running program isn't one itself.
const initPackage = "xenvmm/tests/lab/labinit"

// InitProgram returns a program that can be a host's init. self, if not empty,
// is a program known to be one: the vmm binary names itself. Otherwise the
// init is built from the source tree around the working directory, into the
// cache.
func InitProgram(ctx context.Context, self string) (string, error) {
	if self != "" {
		return self, nil
	}
	cache, err := kernel.CacheDir()
	if err != nil {
		return "", err
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		return "", fmt.Errorf("lab: build the host's init: %w: use the vmm program, which contains it", err)
	}
	unlock, err := kernel.Lock(ctx, filepath.Join(cache, "init.lock"), nil)
	if err != nil {
		return "", err
	}
	defer unlock()
	out := filepath.Join(cache, "labinit")
	cmd := exec.CommandContext(ctx, goTool, "build", "-o", out, "-trimpath", "-buildvcs=false", "-ldflags=-s -w", initPackage)
	// What the caller builds for has nothing to do with the init.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=")
	if msg, err := cmd.CombinedOutput(); err != nil {
		main := "the module xenvmm"
		if b, ok := debug.ReadBuildInfo(); ok && b.Main.Path != "" {
			main = b.Main.Path
		}
		return "", fmt.Errorf("lab: build the host's init: %w: run inside %s: %s", err, main, msg)
	}
	return out, nil
}
