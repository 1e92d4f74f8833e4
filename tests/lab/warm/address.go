// SPDX-License-Identifier: Apache-2.0

package warm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"xenvmm/tests/lab"
	"xenvmm/tests/lab/kernel"
)

// address says where the server for a configuration is found.
type address struct {
	dir string
	key string
}

func (a address) file(ext string) string { return filepath.Join(a.dir, a.key+ext) }

// runDir is where the sockets are.
func runDir() (string, error) {
	cache, err := kernel.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "run")
	return dir, os.MkdirAll(dir, 0o700)
}

// addressOf covers everything two clients must agree on to share a server:
// the host, and the program that is server and client.
func addressOf(cfg lab.Config, program string) (address, error) {
	dir, err := runDir()
	if err != nil {
		return address{}, err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %d %d %q %v %q %q %q %q\n", cfg.Kernel, cfg.CPUs, cfg.MemoryMiB, cfg.Accel, cfg.NICs, cfg.Modules, cfg.KernelArgs, cfg.Devices, cfg.Init)
	if k, err := kernel.Open(cfg.Kernel); err == nil {
		fmt.Fprintf(h, "%q %q\n", k.Package, k.Version)
	}
	f, err := os.Open(program)
	if err != nil {
		return address{}, err
	}
	defer f.Close()
	if _, err := io.Copy(h, f); err != nil {
		return address{}, err
	}
	return address{dir, hex.EncodeToString(h.Sum(nil)[:12])}, nil
}

// viaDescriptor calls use with a short name of the socket: the names of unix
// sockets have at most 107 bytes, those of cache directories any number.
func (a address) viaDescriptor(use func(name string) error) error {
	fd, err := unix.Open(a.dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", a.dir, err)
	}
	defer unix.Close(fd)
	return use(fmt.Sprintf("/proc/self/fd/%d/%s.sock", fd, a.key))
}
