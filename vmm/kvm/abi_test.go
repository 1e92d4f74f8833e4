// SPDX-License-Identifier: Apache-2.0

package kvm

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

func sizeOf(v any) uint64 { return uint64(reflect.TypeOf(v).Size()) }

func fieldOffset(v any, name string) uint64 {
	f, ok := reflect.TypeOf(v).FieldByName(name)
	if !ok {
		panic("no field " + name)
	}
	return uint64(f.Offset)
}

func parseABI(t *testing.T, s string) map[string]uint64 {
	t.Helper()
	m := map[string]uint64{}
	for sc := bufio.NewScanner(strings.NewReader(s)); sc.Scan(); {
		name, value, _ := cutLast(sc.Text(), " ")
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			t.Fatalf("line %q: %v", sc.Text(), err)
		}
		m[name] = n
	}
	return m
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func diffABI(t *testing.T, got, want map[string]uint64, gotName, wantName string) {
	t.Helper()
	for name, w := range want {
		if g, ok := got[name]; !ok {
			t.Errorf("%s is in %s only", name, wantName)
		} else if g != w {
			t.Errorf("%s: %s has %#x, %s has %#x", name, gotName, g, wantName, w)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is in %s only", name, gotName)
		}
	}
}

func TestABIMatchesCommittedTable(t *testing.T) {
	b, err := os.ReadFile("testdata/abi.txt")
	if err != nil {
		t.Fatal(err)
	}
	diffABI(t, abiTable, parseABI(t, string(b)), "Go", "testdata/abi.txt")
}

func TestABIMatchesCHeaders(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: ", err)
	}
	bin := filepath.Join(t.TempDir(), "abi")
	if out, err := exec.Command(cc, "-o", bin, "testdata/abi.c").CombinedOutput(); err != nil {
		t.Skipf("this machine's KVM headers are absent or too old: %v\n%s", err, out)
	}
	out, err := exec.Command(bin).Output()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("XENVMM_UPDATE_ABI") == "1" {
		if err := os.WriteFile("testdata/abi.txt", out, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	diffABI(t, abiTable, parseABI(t, string(out)), "Go", "<linux/kvm.h>")
}

// gokvm's struct types are used as they are, and its tags lag years behind its
// code: v0.0.7 (2022) lacks most of what is used here, and the 2023 pseudo
// version is what module proxies serve as the latest. Another version may have
// other struct types or builders, so a change must be looked at: rerun the two
// tests above, then change the version here.
func TestGokvmVersionIsTheReviewedOne(t *testing.T) {
	const path, want = "github.com/bobuhiro11/gokvm", "v0.0.8-0.20231003020000-f53faca69d28"
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(mod), path+" "+want) {
		t.Errorf("go.mod does not require %s %s", path, want)
	}
	if strings.Contains(string(mod), "replace "+path) || strings.Contains(string(mod), "\t"+path+" =>") {
		t.Errorf("go.mod replaces %s", path)
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == path && d.Version != want {
				t.Errorf("built with %s %s, want %s", path, d.Version, want)
			}
		}
	}
}
