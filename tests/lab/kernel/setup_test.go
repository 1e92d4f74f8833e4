// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"xenvmm/vmm/boot/unpack/unpacktest"
)

// testCache points the cache at an empty directory and makes sure that QEMU
// seems installed.
func testCache(t *testing.T) string {
	t.Helper()
	dir, bin := t.TempDir(), t.TempDir()
	t.Setenv(CacheEnv, dir)
	if err := os.WriteFile(filepath.Join(bin, QEMU), []byte("#!/bin/false\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return dir
}

// testPackage writes a kernel package and returns its path and its kernel.
func testPackage(t *testing.T, elf string) string {
	t.Helper()
	const mods = "lib/modules/6.12-test/kernel/"
	gz := func(p []byte) []byte { return unpacktest.Pack(t, "gzip", p) }
	p := deb(t, ".gz", map[string][]byte{
		"boot/vmlinuz-6.12-test":       unpacktest.BzImage(gz([]byte(elf))),
		mods + "arch/kvm/kvm-amd.ko":   module("depends=kvm\x00"),
		mods + "arch/kvm/kvm.ko.gz":    gz(module("depends=irqbypass\x00")),
		mods + "virt/lib/irqbypass.ko": module("depends=\x00"),
		mods + "sound/unwanted.ko":     module("depends=\x00"),
	})
	file := filepath.Join(t.TempDir(), "k.deb")
	if err := os.WriteFile(file, p, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestSetupFromAPackage(t *testing.T) {
	cache := testCache(t)
	k, err := Setup(t.Context(), Default, SetupOptions{Deb: testPackage(t, "\x7fELF one")})
	if err != nil {
		t.Fatal(err)
	}
	if k.Release != "6.12-test" || k.Package != "k.deb" {
		t.Errorf("kernel %+v", k.Manifest)
	}
	if p, err := os.ReadFile(k.Vmlinux()); err != nil || string(p) != "\x7fELF one" {
		t.Errorf("vmlinux %q, %v", p, err)
	}
	if p, err := os.ReadFile(k.Vmlinuz()); err != nil || len(p) == 0 || string(p) == "\x7fELF one" {
		t.Errorf("vmlinuz of %d bytes, %v", len(p), err)
	}
	order, err := k.LoadOrder("kvm_amd")
	if err != nil || strings.Join(order, " ") != "irqbypass kvm kvm_amd" {
		t.Errorf("modules %q, %v", order, err)
	}
	for _, m := range order {
		if _, err := os.Stat(k.ModuleFile(m)); err != nil {
			t.Error(err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(cache, "kernels", "*"))
	inside, _ := filepath.Glob(filepath.Join(k.Dir, "*"))
	if len(left) != 1 || len(inside) != 4 {
		t.Errorf("the cache holds %q and %q", left, inside)
	}
	// Again: what is there is used, though no package could be had now.
	if _, err := Setup(t.Context(), Default, SetupOptions{}); err != nil {
		t.Error("second time:", err)
	}
	// Replaced in one step.
	if k, err = Setup(t.Context(), Default, SetupOptions{Deb: testPackage(t, "\x7fELF two")}); err != nil {
		t.Fatal(err)
	}
	if p, _ := os.ReadFile(k.Vmlinux()); string(p) != "\x7fELF two" {
		t.Errorf("replaced vmlinux %q", p)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "kernels", "*")); len(left) != 1 {
		t.Errorf("replacing leaves %q", left)
	}
}

func TestDamageInTheCacheIsFound(t *testing.T) {
	testCache(t)
	if _, err := Open(Default); !errors.Is(err, ErrNotSetUp) {
		t.Errorf("empty cache: %v", err)
	}
	k, err := Setup(t.Context(), Default, SetupOptions{Deb: testPackage(t, "\x7fELF")})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(k.Vmlinux(), []byte("\x7fELx"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Default); err != nil {
		t.Errorf("same size: %v, but Open doesn't read the files", err)
	}
	if err := k.Verify(); !errors.Is(err, ErrNotSetUp) {
		t.Errorf("changed file: %v", err)
	}
	if err := os.Remove(k.ModuleFile("kvm")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Default); !errors.Is(err, ErrNotSetUp) {
		t.Errorf("missing file: %v", err)
	}
	if err := os.WriteFile(filepath.Join(k.Dir, manifestName), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Default); !errors.Is(err, ErrNotSetUp) {
		t.Errorf("damaged manifest: %v", err)
	}
}

func TestAKilledSetupLeavesNothingInTheWay(t *testing.T) {
	cache := testCache(t)
	half := filepath.Join(cache, "kernels", Default+".new-123")
	if err := os.MkdirAll(filepath.Join(half, "all"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Setup(t.Context(), Default, SetupOptions{Deb: testPackage(t, "\x7fELF")}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(half); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the half-made kernel is still there: %v", err)
	}
}

func TestSetupsWaitForEachOther(t *testing.T) {
	testCache(t)
	pkg := testPackage(t, "\x7fELF")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := Setup(t.Context(), Default, SetupOptions{Deb: pkg}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestAWaitingSetupCanBeCancelled(t *testing.T) {
	cache := testCache(t)
	unlock, err := Lock(t.Context(), filepath.Join(cache, "lock"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Setup(ctx, Default, SetupOptions{Note: func(string, ...any) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestPackagesThatAreNoKernelsAreRefused(t *testing.T) {
	testCache(t)
	write := func(files map[string][]byte) string {
		f := filepath.Join(t.TempDir(), "x.deb")
		if err := os.WriteFile(f, deb(t, ".gz", files), 0o644); err != nil {
			t.Fatal(err)
		}
		return f
	}
	for name, pkg := range map[string]string{
		"no kernel":  write(map[string][]byte{"usr/bin/true": nil}),
		"no modules": write(map[string][]byte{"boot/vmlinuz-1": unpacktest.BzImage([]byte("\x7fELF"))}),
		"no bzImage": write(map[string][]byte{"boot/vmlinuz-1": []byte("text")}),
		"no file":    "/nonexistent.deb",
	} {
		if _, err := Setup(t.Context(), Default, SetupOptions{Deb: pkg}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
