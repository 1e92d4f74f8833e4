// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"xenvmm/vmm/boot/unpack"
)

// Limits of what a package may make us write, in bytes.
const (
	maxImage   = 128 << 20
	maxVmlinux = 512 << 20
	maxModule  = 64 << 20
)

// extract fills dir and m with the kernel and the wanted modules of a package.
func extract(ctx context.Context, deb, dir string, m *Manifest) error {
	f, err := os.Open(deb)
	if err != nil {
		return err
	}
	defer f.Close()
	// Which modules are needed is known only when all have been seen, so all
	// are put down first, as they are in the package.
	all := filepath.Join(dir, "all")
	if err := os.Mkdir(all, 0o755); err != nil {
		return err
	}
	files := map[string]string{} // module to file
	var image []byte
	err = walkDeb(f, func(name string, size int64, r io.Reader) error {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if release, ok := strings.CutPrefix(name, "boot/vmlinuz-"); ok {
			if size > maxImage {
				return fmt.Errorf("%s: %d bytes, the limit is %d", name, size, maxImage)
			}
			m.Release = release
			image, err = io.ReadAll(r)
			return err
		}
		mod, ok := moduleName(name)
		if !ok || !strings.Contains(name, "lib/modules/") || size > maxModule {
			return nil
		}
		file := filepath.Join(all, path.Base(name))
		files[mod] = file
		return writeFrom(file, r)
	})
	if err != nil {
		return err
	}
	if image == nil {
		return errors.New("the package has no boot/vmlinuz-*: is it a linux-image package?")
	}
	vmlinux, err := unpack.Kernel(image, maxVmlinux)
	if err != nil {
		return fmt.Errorf("boot/vmlinuz-%s: %w", m.Release, err)
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{"vmlinux", vmlinux}, {"vmlinuz", image}} {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.data, 0o644); err != nil {
			return err
		}
		line, err := describe(dir, f.name)
		if err != nil {
			return err
		}
		m.Files = append(m.Files, line)
	}
	if err := extractModules(ctx, files, dir, m); err != nil {
		return err
	}
	return os.RemoveAll(all)
}

// extractModules writes the closure of the wanted modules.
func extractModules(ctx context.Context, files map[string]string, dir string, m *Manifest) error {
	if _, ok := files["kvm_amd"]; !ok {
		return errors.New("the package has no module kvm_amd")
	}
	if err := os.Mkdir(filepath.Join(dir, "modules"), 0o755); err != nil {
		return err
	}
	todo := append(append([]string(nil), hostModules...), extraModules...)
	done := map[string]bool{}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		file, ok := files[name]
		if done[name] || !ok {
			continue // built in
		}
		done[name] = true
		p, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if p, err = unpack.Bytes(p, maxModule); err != nil {
			return fmt.Errorf("module %s: %w", name, err)
		}
		deps, err := parseDepends(p)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		rel := path.Join("modules", name+".ko")
		if err := os.WriteFile(filepath.Join(dir, rel), p, 0o644); err != nil {
			return err
		}
		strip(ctx, filepath.Join(dir, rel))
		line, err := describe(dir, rel)
		if err != nil {
			return err
		}
		m.Files = append(m.Files, line)
		m.Modules = append(m.Modules, Module{Name: name, Depends: deps})
		todo = append(todo, deps...)
	}
	return nil
}

// strip takes out what only debuggers read. Without strip(1) the module stays
// as it is and merely loads slower.
func strip(ctx context.Context, file string) {
	_ = exec.CommandContext(ctx, "strip", "--strip-debug", file).Run()
}

func writeFrom(file string, r io.Reader) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, r); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
