// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// QEMU is the emulator's program, and the Debian package that has it.
const (
	QEMU        = "qemu-system-x86_64"
	qemuPackage = "qemu-system-x86"
)

// SetupOptions change how Setup works.
type SetupOptions struct {
	// Update looks for a newer package though the kernel is in the cache.
	Update bool
	// Deb is a package file to use instead of asking apt.
	Deb string
	// Note receives one line per step; nil discards them.
	Note func(format string, args ...any)
}

// Setup makes a kernel ready to boot and checks that QEMU is here. What is
// missing is downloaded and, as root, installed. A kernel already in the cache
// is verified and used.
func Setup(ctx context.Context, name string, o SetupOptions) (*Kernel, error) {
	if o.Note == nil {
		o.Note = func(string, ...any) {}
	}
	spec, err := Find(name)
	if err != nil {
		return nil, err
	}
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	unlock, err := Lock(ctx, filepath.Join(cache, "lock"), func() { o.Note("waiting for another set-up") })
	if err != nil {
		return nil, err
	}
	defer unlock()
	if _, err := exec.LookPath(QEMU); err != nil {
		o.Note("installing %s", qemuPackage)
		if err := install(ctx, qemuPackage, QEMU); err != nil {
			return nil, err
		}
	}
	final := filepath.Join(cache, "kernels", spec.Name)
	if !o.Update && o.Deb == "" {
		if k, err := openDir(final, spec); err == nil && k.Verify() == nil {
			return k, nil
		}
	}
	m := Manifest{Layout: layout, Name: spec.Name}
	deb := o.Deb
	downloads := filepath.Join(cache, "downloads")
	if deb == "" {
		c, err := fetch(ctx, spec, downloads, final, &deb, o)
		if err != nil {
			return nil, err
		}
		if deb == "" {
			return openDir(final, spec) // up to date
		}
		m.Package, m.Version = c.name, c.version
	} else {
		m.Package = filepath.Base(deb)
	}
	o.Note("unpacking %s", filepath.Base(deb))
	if err := build(ctx, deb, &m, cache, final); err != nil {
		return nil, fmt.Errorf("lab host %s: %w", spec.Name, err)
	}
	_ = os.RemoveAll(downloads) // only saves space
	return openDir(final, spec)
}

// fetch finds and downloads the newest package. *deb stays empty when the
// cache already holds it.
func fetch(ctx context.Context, spec Spec, downloads, final string, deb *string, o SetupOptions) (candidate, error) {
	c, err := newestPackage(ctx, spec)
	if err != nil && update(ctx) == nil {
		c, err = newestPackage(ctx, spec)
	}
	if err != nil {
		return c, err
	}
	if k, err := openDir(final, spec); err == nil && k.Version == c.version && k.Package == c.name && k.Verify() == nil {
		return c, nil
	}
	if err := os.MkdirAll(downloads, 0o755); err != nil {
		return c, err
	}
	if *deb = c.find(downloads); *deb != "" {
		return c, nil
	}
	o.Note("downloading %s %s", c.name, c.version)
	*deb, err = c.download(ctx, downloads)
	if err == nil || ctx.Err() != nil {
		return c, err
	}
	if update(ctx) == nil {
		// The lists were old: the archive has dropped that version since.
		if c, err = newestPackage(ctx, spec); err == nil {
			*deb, err = c.download(ctx, downloads)
		}
	}
	if err != nil {
		err = fmt.Errorf("lab host %s: no package from apt: if this machine is offline, get %s elsewhere and use `vmm lab setup --deb FILE`; if apt's lists are old, run `apt-get update` as root: %w",
			spec.Name, c.name, err)
	}
	return c, err
}

// build unpacks the package beside its place and renames it there.
func build(ctx context.Context, deb string, m *Manifest, cache, final string) error {
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil {
		return err
	}
	// A killed set-up left these; the lock says that nobody works on them.
	old, _ := filepath.Glob(final + ".new-*")
	for _, d := range old {
		_ = os.RemoveAll(d)
	}
	dir, err := os.MkdirTemp(filepath.Dir(final), filepath.Base(final)+".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := extract(ctx, deb, dir, m); err != nil {
		return err
	}
	p, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, manifestName), append(p, '\n'), 0o644); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	err = os.Rename(dir, final)
	if errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ENOTEMPTY) {
		// Swapped in one step: the deferred removal takes the old one.
		err = unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, final, unix.RENAME_EXCHANGE)
	}
	return err
}
