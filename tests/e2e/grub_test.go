// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"io"
	"os"
	"testing"

	"xenvmm/vmm"
	"xenvmm/vmm/kvm/kvmtest"
)

// TestKVMGrubReachesItsPromptListsAndHalts runs a Xen guest that nobody here
// wrote: 32-bit without paging, shared_info and grant frames in holes, xenstore
// and console rings polled.
func TestKVMGrubReachesItsPromptListsAndHalts(t *testing.T) {
	kvmtest.Open(t)
	image, err := os.ReadFile("testdata/grub.elf")
	if err != nil {
		if os.Getenv(kvmtest.Require) == "1" {
			t.Fatalf("%v (make grub builds it)", err)
		}
		t.Skipf("%v (make grub builds it)", err)
	}
	for _, cpus := range []int{1, 2} {
		in, keyboard := io.Pipe()
		defer keyboard.Close()
		s := &session{steps: []step{
			{"Welcome to GRUB", ""},
			{"grub> ", "ls\r"},
			{"(memdisk)", ""},
			{"grub> ", "halt\r"},
		}, keyboard: keyboard}
		status := boot(t, vmm.Config{
			Kernel: image, KernelName: "grub.elf", CPUs: cpus, Console: vmm.Stream{In: in, Out: s},
		}, limit)
		expect(t, status, vmm.Poweroff, "")
		if left := s.left(); left > 0 {
			t.Errorf("%d vCPUs: GRUB ended with %d steps to go; screen:\n%q", cpus, left, s.screen.String())
		}
	}
}
