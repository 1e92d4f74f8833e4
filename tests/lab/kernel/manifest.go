// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	manifestName = "manifest.json"
	// layout changes whenever older caches can't be used any more.
	layout = 2
)

// Manifest describes one kernel in the cache.
type Manifest struct {
	Layout  int      `json:"layout"`
	Name    string   `json:"name"`
	Package string   `json:"package"` // without version where set up from a file
	Version string   `json:"version"`
	Release string   `json:"release"` // uname -r
	Files   []File   `json:"files"`
	Modules []Module `json:"modules"`
}

// File is one file below the kernel's directory.
type File struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Module is one kernel module. Its file is modules/Name.ko.
type Module struct {
	Name    string   `json:"name"` // as the kernel says it: with underscores
	Depends []string `json:"depends,omitempty"`
}

// Kernel is a kernel ready to boot.
type Kernel struct {
	Manifest
	Spec Spec
	Dir  string
}

// ErrNotSetUp says that a kernel isn't in the cache.
var ErrNotSetUp = errors.New("not set up: run `vmm lab setup`")

// Open returns a kernel that is in the cache. It checks that all files are
// there with the right size; Verify reads them.
func Open(name string) (*Kernel, error) {
	spec, err := Find(name)
	if err != nil {
		return nil, err
	}
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	return openDir(filepath.Join(cache, "kernels", spec.Name), spec)
}

func openDir(dir string, spec Spec) (*Kernel, error) {
	k, name := &Kernel{Spec: spec, Dir: dir}, spec.Name
	p, err := os.ReadFile(filepath.Join(dir, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("lab host %s: %w", name, ErrNotSetUp)
	}
	if err != nil {
		return nil, fmt.Errorf("lab host %s: %w", name, err)
	}
	if err := json.Unmarshal(p, &k.Manifest); err != nil {
		return nil, fmt.Errorf("lab host %s: manifest: %w: %w", name, err, ErrNotSetUp)
	}
	if k.Layout != layout {
		return nil, fmt.Errorf("lab host %s: made by another version: %w", name, ErrNotSetUp)
	}
	for _, f := range k.Files {
		st, err := os.Stat(filepath.Join(dir, f.Path))
		if err != nil || st.Size() != f.Size {
			return nil, fmt.Errorf("lab host %s: %s is damaged: %w", name, f.Path, ErrNotSetUp)
		}
	}
	return k, nil
}

// Vmlinux is the path of the ELF kernel.
func (k *Kernel) Vmlinux() string { return filepath.Join(k.Dir, "vmlinux") }

// Vmlinuz is the path of the kernel as the package has it: a bzImage.
func (k *Kernel) Vmlinuz() string { return filepath.Join(k.Dir, "vmlinuz") }

// ModuleFile is the path of a module in Modules.
func (k *Kernel) ModuleFile(name string) string {
	return filepath.Join(k.Dir, "modules", name+".ko")
}

// Verify compares every file with its SHA-256.
func (k *Kernel) Verify() error {
	for _, f := range k.Files {
		got, err := describe(k.Dir, f.Path)
		if err != nil {
			return fmt.Errorf("lab host %s: %w", k.Name, err)
		}
		if got != f {
			return fmt.Errorf("lab host %s: %s is damaged: %w", k.Name, f.Path, ErrNotSetUp)
		}
	}
	return nil
}

// describe makes the manifest's line for a file.
func describe(dir, path string) (File, error) {
	f, err := os.Open(filepath.Join(dir, path))
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return File{}, err
	}
	return File{Path: path, Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}
