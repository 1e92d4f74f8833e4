// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const testPackageName = "linux-image-6.12.7-amd64"

// fakeApt puts an apt into the PATH that knows one package and downloads it as
// the shell text says: $pkg is the package's file, $to where it is to be.
func fakeApt(t *testing.T, pkg, download string) (cache string) {
	t.Helper()
	cache = testCache(t)
	d, err := describe("", pkg)
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for name, text := range map[string]string{
		"apt-cache": fmt.Sprintf("case $1 in pkgnames) echo %s; echo linux-image-other;; show) printf 'Version: 1\\nSHA256: %s\\n';; esac", testPackageName, d.SHA256),
		"apt-get": fmt.Sprintf("pkg=%s to=%s_1_amd64.deb\ncase $1 in download) %s;; *) echo E: no network >&2; exit 100;; esac",
			pkg, testPackageName, download),
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return cache
}

func left(t *testing.T, cache string) string {
	t.Helper()
	var out []string
	for _, dir := range []string{"kernels", "downloads"} {
		entries, err := os.ReadDir(filepath.Join(cache, dir))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range entries {
			out = append(out, dir+"/"+e.Name())
		}
	}
	return strings.Join(out, " ")
}

func TestAPackageIsDownloaded(t *testing.T) {
	cache := fakeApt(t, testPackage(t, "\x7fELF"), "cp $pkg $to")
	k, err := Setup(t.Context(), Default, SetupOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if k.Package != testPackageName || k.Version != "1" {
		t.Errorf("%+v", k.Manifest)
	}
	if got := left(t, cache); got != "kernels/"+Default {
		t.Errorf("left are %s", got)
	}
}

// TestADownloadGoesOn where the last one was cut off; that is apt's doing, and
// ours to leave it what there is.
func TestADownloadGoesOn(t *testing.T) {
	cache := fakeApt(t, testPackage(t, "\x7fELF"), `
		if test -e $to; then tail -c +101 $pkg >>$to; else head -c 100 $pkg >$to; echo E: cut off >&2; exit 100; fi`)
	if _, err := Setup(t.Context(), Default, SetupOptions{}); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Fatalf("first: %v", err)
	}
	if _, err := Open(Default); !errors.Is(err, ErrNotSetUp) {
		t.Errorf("half a package is a kernel: %v", err)
	}
	if got := left(t, cache); got != "downloads/"+testPackageName+"_1_amd64.deb" {
		t.Errorf("left are %s", got)
	}
	if _, err := Setup(t.Context(), Default, SetupOptions{}); err != nil {
		t.Fatal("second:", err)
	}
	if got := left(t, cache); got != "kernels/"+Default {
		t.Errorf("left are %s", got)
	}
}

// TestADamagedDownloadIsBegunAgain: going on with it gives a wrong checksum,
// whether apt notices or we do.
func TestADamagedDownloadIsBegunAgain(t *testing.T) {
	for name, download := range map[string]string{
		"apt notices": "test ! -e $to || { echo E: Hash Sum mismatch >&2; exit 100; }; cp $pkg $to",
		"we notice":   "test -e $to || cp $pkg $to",
	} {
		t.Run(name, func(t *testing.T) {
			cache := fakeApt(t, testPackage(t, "\x7fELF"), download)
			dir := filepath.Join(cache, "downloads")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, testPackageName+"_1_amd64.deb"), []byte("rubbish"), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := Setup(t.Context(), Default, SetupOptions{}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestAWrongPackageIsRefused(t *testing.T) {
	cache := fakeApt(t, testPackage(t, "\x7fELF"), "echo something else >$to")
	if _, err := Setup(t.Context(), Default, SetupOptions{}); err == nil || !strings.Contains(err.Error(), "SHA-256") {
		t.Errorf("%v", err)
	}
	if got := left(t, cache); strings.Contains(got, "kernels/") {
		t.Errorf("left are %s", got)
	}
}

func TestWithoutANetworkItSaysWhatHelps(t *testing.T) {
	fakeApt(t, testPackage(t, "\x7fELF"), "echo E: Failed to fetch http://user:secret@archive.example/x.deb Could not resolve >&2; exit 100")
	_, err := Setup(t.Context(), Default, SetupOptions{})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{Default, testPackageName, "offline", "--deb FILE", "Could not resolve"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the archive's address is in: %v", err)
	}
}

func TestWithoutAptItSaysWhatHelps(t *testing.T) {
	testCache(t)
	bin, _, _ := strings.Cut(os.Getenv("PATH"), ":")
	t.Setenv("PATH", bin) // the emulator, and nothing else
	_, err := Setup(t.Context(), Default, SetupOptions{})
	if err == nil || !strings.Contains(err.Error(), "--deb FILE") || !strings.Contains(err.Error(), "linux-image-6") {
		t.Errorf("%v", err)
	}
	t.Setenv("PATH", t.TempDir())
	_, err = Setup(t.Context(), Default, SetupOptions{})
	if err == nil || !strings.Contains(err.Error(), QEMU) || !strings.Contains(err.Error(), "apt-get install "+qemuPackage) {
		t.Errorf("no emulator: %v", err)
	}
}

// TestACancelledDownloadEnds, and apt with it.
func TestACancelledDownloadEnds(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	if err := unix.Mkfifo(started, 0o600); err != nil {
		t.Fatal(err)
	}
	fakeApt(t, testPackage(t, "\x7fELF"), "echo $$ >"+started+"; exec sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := Setup(ctx, Default, SetupOptions{})
		done <- err
	}()
	var pid int
	p, err := os.ReadFile(started) // waits
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(p), &pid); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("apt is still there: %v", err)
	}
}
