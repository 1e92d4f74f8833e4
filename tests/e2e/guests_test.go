// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"xenvmm/guest"
	"xenvmm/vmm"
	"xenvmm/vmm/kvm/kvmtest"
)

// TestKVMGuests runs every guest test in every variant.
func TestKVMGuests(t *testing.T) {
	for _, g := range guest.Tests() {
		if g.Host == guest.HostPorts {
			continue // TestKVMStorm
		}
		runs := append([]guest.Variant{{Args: g.Args, CPUs: g.CPUs, Ends: g.Ends}}, g.Variants...)
		for _, v := range runs {
			t.Run(strings.TrimSpace(fmt.Sprintf("%s cpus=%d %s", g.Name, v.CPUs, v.Args)), func(t *testing.T) {
				runGuest(t, g, v)
			})
		}
	}
}

func runGuest(t *testing.T, g guest.Test, v guest.Variant) {
	image, ok := guest.Image(g.Name)
	if !ok {
		t.Fatalf("there is no guest %q", g.Name)
	}
	cfg := vmm.Config{Kernel: image, KernelName: g.Name, CPUs: v.CPUs, Cmdline: fmt.Sprintf("cpus=%d %s", v.CPUs, v.Args)}
	if g.Host == guest.HostConsole {
		in, typed := io.Pipe()
		defer typed.Close()
		cfg.Console.In = in
		cfg.Console.Out = &session{steps: []step{{"PVCONSOLE ready", expected(v.Args)}}, keyboard: typed}
	}
	expectEnd(t, boot(t, cfg, lasts(v)), v)
}

// lasts is how long a run may take.
func lasts(v guest.Variant) time.Duration {
	if v.Ends == guest.EndsNever {
		return 2 * time.Second
	}
	return limit
}

// expectEnd checks how a guest's run ended.
func expectEnd(t *testing.T, s vmm.Status, v guest.Variant) {
	t.Helper()
	checkShadow(t, s)
	switch v.Ends {
	case guest.EndsNever:
		expect(t, s, vmm.Timeout, "")
	case guest.EndsTripleFault:
		expect(t, s, vmm.TripleFault, vmm.Pass)
	case guest.EndsReboot:
		expect(t, s, vmm.Reboot, vmm.Pass)
	case guest.EndsCrash:
		expect(t, s, vmm.Crash, vmm.Pass)
	case guest.EndsWatchdog:
		expect(t, s, vmm.Watchdog, vmm.Pass)
	default: // a suspend is cancelled, and after a soft reset the guest goes on
		expect(t, s, vmm.Poweroff, vmm.Pass)
	}
}

// expected is the text of expect= with the key that ends a line.
func expected(args string) string {
	for _, f := range strings.Fields(args) {
		if text, ok := strings.CutPrefix(f, "expect="); ok {
			return text + "\r"
		}
	}
	return ""
}

// TestKVMMachinesEndWhenTheyAreTold pauses, stops and closes machines whose
// guests never end by themselves, halted and running.
func TestKVMMachinesEndWhenTheyAreTold(t *testing.T) {
	for _, mode := range []string{"hlt", "spin"} {
		t.Run(mode, func(t *testing.T) {
			kvmtest.Open(t)
			image, _ := guest.Image("hang")
			m, err := vmm.New(vmm.Config{Kernel: image, KernelName: "hang", CPUs: 2, Cmdline: "cpus=2 mode=" + mode})
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Start(); err != nil {
				t.Fatal(err, m.Close())
			}
			if err := m.Start(); err == nil {
				t.Error("a machine started twice")
			}
			for range 20 {
				m.Pause()()
			}
			resume := m.Pause()
			m.Stop()
			s := m.Wait(context.Background())
			resume()
			if s.Ending != vmm.Closed {
				t.Errorf("%s, want closed", s)
			}
			for range 2 {
				if err := m.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}
		})
	}
}
