// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"xenvmm/guest"
	"xenvmm/vmm"
	"xenvmm/vmm/kvm/kvmtest"
)

// TestKVMTimeoutTellsWhereTheVCPUsAre ends guests that never end, and wants to be
// told what they did.
func TestKVMTimeoutTellsWhereTheVCPUsAre(t *testing.T) {
	for _, c := range []struct {
		mode, state string
		ring        uint8
		interrupts  bool
		text        string
	}{
		{"hlt", "halted", 0, false, "halted at RIP"},
		{"spin", "running", 3, true, "running at RIP"},
	} {
		t.Run(c.mode, func(t *testing.T) {
			d := hangUntilTimeout(t, "cpus=2 mode="+c.mode)
			if d == nil || len(d.VCPUs) != 2 || d.More != 0 || d.Events == nil {
				t.Fatalf("diagnosis %+v", d)
			}
			for i, v := range d.VCPUs {
				on := v.RFLAGS&(1<<9) != 0
				if v.VCPU != i || v.State != c.state || v.CPL != c.ring || on != c.interrupts || v.RIP < 1<<20 || v.RIP > 17<<20 || v.Error != "" {
					t.Errorf("vcpu %d: want %s in ring %d, interrupts %v, inside the image; got %+v", i, c.state, c.ring, c.interrupts, v)
				}
				if !v.LAPIC.Enabled || v.UpcallOwed || i == 0 && v.LastExit == "" {
					t.Errorf("vcpu %d has its local APIC enabled and takes no upcalls, and vcpu 0 has made exits; got %+v", i, v)
				}
			}
			if text := strings.Join(d.Lines(), "\n"); strings.Count(text, c.text) != 2 || !strings.Contains(text, "shared_info is not mapped") {
				t.Errorf("want twice %q in\n%s", c.text, text)
			}
		})
	}
}

// TestKVMTripleFaultTellsWhereTheVCPUsWere: as far as KVM keeps it, and what the
// vCPU asked of the monitor last.
func TestKVMTripleFaultTellsWhereTheVCPUsWere(t *testing.T) {
	kvmtest.Open(t)
	image, _ := guest.Image("triplefault")
	s := boot(t, vmm.Config{Kernel: image, KernelName: "triplefault", CPUs: 2}, limit)
	expect(t, s, vmm.TripleFault, vmm.Pass)
	d := s.Diagnosis
	if d == nil || len(d.VCPUs) != 2 || d.Events == nil {
		t.Fatalf("diagnosis %+v", d)
	}
	if v := d.VCPUs[0]; v.LastExit != "IO" || v.LastRIP < 1<<20 || v.LastRIP > 17<<20 || v.Error != "" {
		t.Errorf("vcpu 0, whose last exit was for its last console output: %+v", v)
	}
	if v := d.VCPUs[1]; v.State != "not started" || v.Error != "" {
		t.Errorf("vcpu 1, which was never started: %+v", v)
	}
	t.Log(strings.Join(d.Lines(), "\n"))
}

// hangUntilTimeout boots the guest that never ends, and begins to count its time
// when its vCPUs hang.
func hangUntilTimeout(t *testing.T, cmdline string) *vmm.Diagnosis {
	t.Helper()
	kvmtest.Open(t)
	image, _ := guest.Image("hang")
	hung := make(chan struct{})
	m, err := vmm.New(vmm.Config{
		Kernel: image, KernelName: "hang", CPUs: 2, Cmdline: cmdline,
		Console: vmm.Stream{Out: &session{steps: []step{{"HANG 2 vCPUs", ""}}, reached: func() { close(hung) }}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	<-hung
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	s := m.Wait(ctx)
	expect(t, s, vmm.Timeout, "")
	return s.Diagnosis
}
