// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"xenvmm/guest"
	"xenvmm/vmm"
	"xenvmm/vmm/kvm/kvmtest"
)

// TestKVMHaltedGuestCostsNoCPU: vCPUs in HLT wait in the kernel, and nothing in
// this process polls for them.
func TestKVMHaltedGuestCostsNoCPU(t *testing.T) {
	kvmtest.Open(t)
	image, _ := guest.Image("hang")
	halted := make(chan struct{})
	m, err := vmm.New(vmm.Config{
		Kernel: image, KernelName: "hang", CPUs: 4, Cmdline: "cpus=4 mode=hlt",
		Console: vmm.Stream{Out: &session{steps: []step{{"HANG", ""}}, reached: func() { close(halted) }}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	<-halted
	before := cpuTime(t)
	const window = time.Second
	<-time.After(window)
	used := cpuTime(t) - before
	m.Stop()
	if s := m.Wait(t.Context()); s.Ending != vmm.Closed {
		t.Fatalf("%s", s)
	}
	// Entering HLT after the banner takes a little; a vCPU that spins, or a
	// millisecond timer that retries, would take several times this.
	if used > window/4 {
		t.Errorf("%v of CPU time in %v of a halted guest", used, window)
	}
}

func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
