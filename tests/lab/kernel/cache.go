// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// CacheEnv names the environment variable that overrides the cache directory.
const CacheEnv = "XENVMM_LAB_CACHE"

// CacheDir returns the lab's cache directory, which is created if needed.
func CacheDir() (string, error) {
	dir := os.Getenv(CacheEnv)
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("lab cache: %w: set %s", err, CacheEnv)
		}
		dir = filepath.Join(base, "xenvmm", "lab")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("lab cache: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("lab cache: %w: set %s to a directory you can write", err, CacheEnv)
	}
	return dir, nil
}

// Lock takes an exclusive flock on the file, which is created if needed. wait
// is called once if somebody else holds it. The lock ends with the process.
func Lock(ctx context.Context, file string, wait func()) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", file, err)
		}
		if wait != nil {
			wait()
			wait = nil
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("lock %s, held by another set-up: %w", file, context.Cause(ctx))
		case <-tick.C:
		}
	}
}
