// SPDX-License-Identifier: Apache-2.0

// Package linux boots kernels as distributions build them, as guests, in the
// nested lab: on a host whose KVM intercepts hypercalls and on one whose KVM
// does not.
package linux

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"xenvmm/tests/lab"
	"xenvmm/tests/lab/initramfs"
	"xenvmm/tests/lab/kernel"
	"xenvmm/tests/linux/report"
)

// AllEnv names the environment variable with which every combination is booted,
// and not a few of them.
const AllEnv = "XENVMM_LINUX_ALL"

const root = "../.."

// guest is one boot.
type guest struct {
	kernel string
	cpus   int
	mib    uint64 // of memory
}

func (g guest) memory() string { return fmt.Sprintf("%dM", g.mib) }
func (g guest) String() string { return fmt.Sprintf("%s/%dcpu/%s", g.kernel, g.cpus, g.memory()) }

// guests are the boots on each host.
func guests(all bool) (list []guest) {
	if !all {
		return []guest{
			{kernel: "debian-6.12", cpus: 2, mib: 512},
			{kernel: "debian-6.1", cpus: 1, mib: 128},
			{kernel: "debian-6.12-cloud", cpus: 8, mib: 128},
		}
	}
	for _, s := range kernel.Specs() {
		for _, cpus := range []int{1, 2, 8} {
			list = append(list, guest{kernel: s.Name, cpus: cpus, mib: 128})
		}
		list = append(list, guest{kernel: s.Name, cpus: 2, mib: 512})
		list = append(list, guest{kernel: s.Name, cpus: 2, mib: 3330})
	}
	return append(list,
		guest{kernel: "debian-6.12", cpus: 16, mib: 512},
		guest{kernel: "debian-6.12", cpus: 2, mib: 5 << 10})
}

func TestStockLinuxFindsItselfOnXenAndPowersOff(t *testing.T) {
	if os.Getenv(lab.TestEnv) == "" {
		t.Skipf("boots lab hosts: set %s=1, or run make linux", lab.TestEnv)
	}
	vmm, initrd := build(t, "./cmd/vmm"), probe(t)
	for _, host := range []string{"debian-6.12", "debian-6.1"} {
		t.Run(host, func(t *testing.T) {
			h := lab.StartT(t, lab.Config{Kernel: host, MemoryMiB: 8 << 10})
			for _, g := range guests(os.Getenv(AllEnv) != "") {
				t.Run(g.String(), func(t *testing.T) { boot(t, h, vmm, initrd, g) })
			}
		})
	}
}

func boot(t *testing.T, h *lab.Host, vmm string, initrd []byte, g guest) {
	k, err := kernel.Setup(t.Context(), g.kernel, kernel.SetupOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The guest's own time is bounded, so that a boot that hangs is diagnosed.
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	status, err := h.Exec(ctx, lab.Cmd{
		Path: vmm, Stdout: &out, Stderr: &errs,
		Args:  []string{"run", "/kernel", "--initrd", "/initrd", "--cpus", fmt.Sprint(g.cpus), "--memory", g.memory(), "--timeout", "3m", "--cmdline", "console=hvc0 quiet"},
		Files: []lab.File{{From: k.Vmlinuz(), To: "/kernel"}, {Data: initrd, To: "/initrd"}},
	})
	t.Logf("%v after %v\n%s", status, status.Wall.Round(time.Millisecond), &errs)
	if emulatorFault(h.Accel(), out.String()) {
		t.Skipf("the emulator ran half of an instruction that the guest's kernel was patching (docs/testing.md):\n%s", &out)
	}
	if err != nil || !status.Success() {
		t.Fatalf("%v\n%s", err, &out)
	}
	judge(t, g, find(t, out.String()))
}

// emulatorFault tells whether a guest died of what only the emulator does. Nothing
// of a monitor's can cause it, so it is no verdict on this one.
func emulatorFault(on lab.Accel, console string) bool {
	return on == lab.AccelEmulator && lab.HalfPatched(console)
}

func TestOnlyAnEmulatorIsExcusedForABreakpointLeftBehind(t *testing.T) {
	const oops = "[    3.532818] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI"
	for _, c := range []struct {
		on      lab.Accel
		console string
		want    bool
	}{
		{lab.AccelEmulator, oops, true},
		{lab.AccelKVM, oops, false},
		{lab.AccelEmulator, "[    3.5] Oops: 0000 [#1] PREEMPT SMP NOPTI", false},
	} {
		if got := emulatorFault(c.on, c.console); got != c.want {
			t.Errorf("%s, %q: %v", c.on, c.console, got)
		}
	}
}

// find is the report in a console's output.
func find(t *testing.T, out string) (r report.Report) {
	t.Helper()
	_, line, ok := strings.Cut(out, report.Prefix)
	if !ok {
		t.Fatalf("no report in %s", out)
	}
	if err := json.NewDecoder(strings.NewReader(line)).Decode(&r); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return r
}

func judge(t *testing.T, g guest, r report.Report) {
	t.Logf("%s: init after %v", r.Release, time.Duration(r.BootNS).Round(time.Millisecond))
	for _, f := range r.Failures {
		t.Errorf("the guest did not find out: %s", f)
	}
	for what, got := range map[string][2]string{
		"hypervisor": {r.Hypervisor, "xen"}, "guest type": {r.GuestType, "PVH"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %q, want %q", what, got[0], got[1])
		}
	}
	if len(r.UUID) != 36 {
		t.Errorf("UUID %q", r.UUID)
	}
	if !strings.HasPrefix(r.Version, "4.17") {
		t.Errorf("Xen version %q", r.Version)
	}
	if r.Clocksource != "xen" && r.Clocksource != "tsc" {
		t.Errorf("clocksource %q, want xen or tsc", r.Clocksource)
	}
	if r.CPUs != g.cpus || len(r.Upcalls) != g.cpus {
		t.Errorf("%d CPUs with %d counts of upcalls, want %d", r.CPUs, len(r.Upcalls), g.cpus)
	}
	for cpu, n := range r.Upcalls {
		if n == 0 {
			t.Errorf("CPU %d has had no upcall", cpu)
		}
	}
	// Timer, reschedule, two kinds of calls and the spinlock's, at least.
	if r.Channels < 4 {
		t.Errorf("%d event channels in /proc/interrupts", r.Channels)
	}
	// What the kernel itself takes is less than 80 MiB.
	if kib := g.mib << 10; r.MemoryKiB > kib || r.MemoryKiB < kib-80<<10-kib/20 {
		t.Errorf("%d KiB of memory of %d", r.MemoryKiB, kib)
	}
	if r.SleptNS < report.SleepNS {
		t.Errorf("a sleep of %v took %v", time.Duration(report.SleepNS), time.Duration(r.SleptNS))
	}
	for _, w := range unexpected(r.Warnings) {
		t.Errorf("a warning that no Xen host gives: %s", w)
	}
}

// build makes a program that runs in the lab.
func build(t *testing.T, pkg string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", out, pkg)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, b)
	}
	return out
}

// probe is an initramfs with the guest's program.
func probe(t *testing.T) []byte {
	t.Helper()
	program, err := os.ReadFile(build(t, "./tests/linux/probe"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := initramfs.Write(&b, []initramfs.Entry{{Path: "init", Mode: 0o755, Data: program}}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
