// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestUnderPlainEmulation boots guests where there is no Xen, to check what needs
// none: entry, exceptions, ring 3, AP start, and that the others skip.
func TestUnderPlainEmulation(t *testing.T) {
	if testing.Short() {
		t.Skip("boots machines: not in short mode")
	}
	qemu, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		t.Skip("no qemu-system-x86_64")
	}
	for _, c := range []struct {
		what, guest, machine, cpus, args, want string
	}{
		{"library", "selftest", "q35", "3", "cpus=3", "VERDICT selftest PASS"},
		{"library on a small machine", "selftest", "microvm", "1", "", "VERDICT selftest PASS"},
		{"exception report", "selftest", "q35", "1", "fault=1", "VERDICT selftest FAIL exception 14"},
		{"halting", "halt", "q35", "1", "", "VERDICT halt PASS"},
		{"no Xen", "ident", "q35", "1", "", "VERDICT ident SKIP not a Xen guest"},
		{"triple fault", "triplefault", "q35", "1", "", "VERDICT triplefault PASS"},
	} {
		t.Run(c.what, func(t *testing.T) {
			image, ok := Image(c.guest)
			if !ok {
				t.Fatalf("no guest %s", c.guest)
			}
			file := filepath.Join(t.TempDir(), "guest.elf")
			if err := os.WriteFile(file, image, 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			// The exit status is the guest's shutdown code, or 0 after a
			// triple fault: the output tells more.
			out, err := exec.CommandContext(ctx, qemu, "-accel", "tcg", "-cpu", "max", "-M", c.machine, "-m", "32", "-smp", c.cpus,
				"-nodefaults", "-display", "none", "-no-reboot", "-device", "isa-debug-exit", "-debugcon", "stdio",
				"-kernel", file, "-append", c.args).CombinedOutput()
			if !strings.Contains(string(out), c.want) {
				t.Errorf("want %q, got (%v)\n%s", c.want, err, out)
			}
			if n := strings.Count(string(out), "VERDICT "); n != 1 {
				t.Errorf("%d verdict lines\n%s", n, out)
			}
		})
	}
}
