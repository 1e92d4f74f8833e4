// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector allocates on its own account.

package vcpu

import (
	"testing"

	"xenvmm/vmm/kvm"
)

// steady is a vCPU whose guest leaves with the same exit again and again.
func steady(action Action) *VCPU {
	f := newFakeKVM()
	m := newFakeMachine()
	m.action = action
	m.ports = nil
	v := NewGroup([]KVM{again{f}}, m).cpus[0]
	return v
}

// again repeats one exit.
type again struct{ *fakeKVM }

func (a again) Run() error { return nil }
func (a again) Exit() *kvm.Exit {
	a.exit.Reason = kvm.ExitIO
	a.exit.IO = kvm.IOExit{Out: true, Port: 0xfa, Size: 4, Count: 1}
	return &a.exit
}

func TestAStepAllocatesNothing(t *testing.T) {
	v := steady(Resume)
	if n := testing.AllocsPerRun(1000, func() {
		if s := v.step(); s != nil {
			t.Fatalf("stopped: %+v", *s)
		}
	}); n != 0 {
		t.Errorf("%v allocations an exit, want 0", n)
	}
}

func BenchmarkStep(b *testing.B) {
	v := steady(Resume)
	b.ReportAllocs()
	for b.Loop() {
		v.step()
	}
}
