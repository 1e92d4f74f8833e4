// SPDX-License-Identifier: Apache-2.0

package kvm_test

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"xenvmm/vmm/kvm"
)

func TestKVMImmediateExit(t *testing.T) {
	g := newGuest(t, []byte{0xeb, 0xfe}, nil) // jmp .
	for range 10 {
		g.cpu.SetImmediateExit(true)
		if err := g.cpu.Run(); !errors.Is(err, unix.EINTR) {
			t.Fatal(err)
		}
		g.cpu.SetImmediateExit(false)
	}
}

// A kick must end Run wherever the vCPU is: before KVM_RUN, in the guest, or
// asleep in HLT. The guest itself never exits here.
func TestKVMKick(t *testing.T) {
	for name, tt := range map[string]struct {
		program []byte
		chip    bool
	}{
		"spinning": {[]byte{0xeb, 0xfe}, false},
		"halted":   {haltLoop, true},
	} {
		t.Run(name, func(t *testing.T) {
			var setup func(*kvm.VM)
			if tt.chip {
				setup = split(t)
			}
			g := newGuest(t, tt.program, setup)
			if tt.chip {
				g.enableLAPIC(true)
			}
			const rounds = 20
			entering, left := make(chan struct{}), make(chan struct{})
			go func() {
				for range rounds {
					<-entering
					g.kick()
					select {
					case <-left:
					case <-time.After(5 * time.Second):
						t.Error("kick did not end KVM_RUN")
						g.kick()
						return
					}
				}
			}()
			for i := range rounds {
				entering <- struct{}{}
				for {
					// A signal of the runtime's own may come first.
					if err := g.cpu.Run(); !errors.Is(err, unix.EINTR) {
						t.Fatalf("round %d: %v (exit %v)", i, err, g.cpu.Exit().Reason)
					}
					select {
					case left <- struct{}{}:
					case <-time.After(time.Millisecond):
						continue // not kicked yet
					}
					break
				}
				g.cpu.SetImmediateExit(false)
			}
		})
	}
}
