// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

type mountpoint struct {
	dir, fs string
	flags   uintptr
	data    string
}

const safe = unix.MS_NOSUID | unix.MS_NOEXEC | unix.MS_NODEV

// kernelMounts are made once for the machine.
var kernelMounts = []mountpoint{
	{"/proc", "proc", safe, ""},
	{"/sys", "sysfs", safe, ""},
	{"/sys/fs/cgroup", "cgroup2", safe, ""},
	{"/dev", "devtmpfs", unix.MS_NOSUID, "mode=0755"},
	{"/dev/pts", "devpts", unix.MS_NOSUID | unix.MS_NOEXEC, "mode=0620,ptmxmode=0666"},
	{"/dev/shm", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
	{"/tmp", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
}

func (m mountpoint) mount() error {
	if err := os.MkdirAll(m.dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("mount %s: %w", m.dir, err)
	}
	if err := unix.Mount(m.fs, m.dir, m.fs, m.flags, m.data); err != nil {
		return fmt.Errorf("mount %s: %w", m.dir, err)
	}
	return nil
}

// mountProc is separate because IsInit needs it; a second call does nothing.
func mountProc() error {
	if _, err := os.Stat("/proc/self"); err == nil {
		return nil
	}
	return kernelMounts[0].mount()
}

// setup makes a bare kernel a place where programs can run.
func setup() error {
	unix.Umask(0o022)
	if err := mountProc(); err != nil {
		return err
	}
	for _, m := range kernelMounts[1:] {
		if err := m.mount(); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{"fd": "fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
		if err := os.Symlink("/proc/self/"+target, "/dev/"+name); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	if err := unix.Sethostname([]byte("lab")); err != nil {
		return fmt.Errorf("host name: %w", err)
	}
	// Test programs open many descriptors and pin guest memory.
	for _, l := range []struct {
		what int
		max  uint64
	}{{unix.RLIMIT_NOFILE, 1 << 20}, {unix.RLIMIT_MEMLOCK, unix.RLIM_INFINITY}, {unix.RLIMIT_CORE, 0}} {
		if err := unix.Setrlimit(l.what, &unix.Rlimit{Cur: l.max, Max: l.max}); err != nil {
			return fmt.Errorf("resource limit %d: %w", l.what, err)
		}
	}
	return setUp("lo") // its addresses come with that
}
