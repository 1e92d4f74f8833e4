// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"xenvmm/guest"
	"xenvmm/vmm"
	"xenvmm/vmm/memory"
)

// transcript is a guest's console, to be read when it has ended.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (c *transcript) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(p)
}

// taken is what the storm guest says it took at a port.
func (c *transcript) taken(t *testing.T, port uint32) (n uint64) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for line := range strings.Lines(c.text.String()) {
		var p uint32
		if k, _ := fmt.Sscanf(line, "STORM port=%d taken=%d", &p, &n); k == 2 && p == port {
			return n
		}
	}
	t.Fatalf("the guest does not say what it took at port %d:\n%s", port, c.text.String())
	return 0
}

// stormMachine starts the storm guest with host events, and returns when it waits
// for them.
func stormMachine(t *testing.T, cfg vmm.Config, args string) (*vmm.Machine, *transcript) {
	t.Helper()
	image, _ := guest.Image("storm")
	out := &transcript{}
	cfg.Kernel, cfg.KernelName, cfg.Console.Out = image, "storm", out
	cfg.Cmdline = fmt.Sprintf("cpus=%d ports={ports} %s", cfg.CPUs, args)
	m, err := vmm.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	ready := make(chan struct{})
	var once sync.Once
	m.OnNotify(func(event int) {
		if event == 0 {
			once.Do(func() { close(ready) })
		}
	})
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ready:
	case <-time.After(limit):
		t.Fatal("the guest did not tell that it is ready")
	}
	return m, out
}

// finish has the guest end and demands that it is content.
func finish(t *testing.T, m *vmm.Machine) {
	t.Helper()
	if err := m.HostEvents()[0].Signal(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	expect(t, m.Wait(ctx), vmm.Poweroff, vmm.Pass)
}

// awaitTaken returns when the guest has taken what is pending at a port. Its
// shared_info must stay where it is.
func awaitTaken(t *testing.T, m *vmm.Machine, port uint32) {
	t.Helper()
	const pending = 0x800 // of evtchn_pending in a 64-bit shared_info
	at := m.EventFrames()[0]*memory.PageSize + pending + uint64(port/32*4)
	look := time.NewTicker(100 * time.Microsecond)
	defer look.Stop()
	for end := time.Now().Add(limit); time.Now().Before(end); <-look.C {
		var b [4]byte
		if err := m.Memory().ReadAt(b[:], at); err != nil {
			t.Fatal(err)
		}
		if binary.LittleEndian.Uint32(b[:])>>(port%32)&1 == 0 {
			return
		}
	}
	t.Fatalf("port %d is still pending after %v", port, limit)
}

// TestKVMKernelDeliversWhatTheHostSends writes eventfds that KVM watches, one
// event at a time, and has the guest count them: each must come, and none twice.
// That this program had no part in it shows in its own counts.
func TestKVMKernelDeliversWhatTheHostSends(t *testing.T) {
	host := hostXen(t)
	const sources, rounds = 6, 20
	for _, c := range []struct {
		args    string
		cpus    int
		irqchip string
	}{
		{"upcall=vector", 2, vmm.IRQChipFull}, {"upcall=callback", 2, vmm.IRQChipFull}, {"upcall=vector", 4, vmm.IRQChipSplit},
		{"upcall=vector vcpuinfo=shared", 2, vmm.IRQChipFull}, {"upcall=vector rebind=1", 2, vmm.IRQChipFull},
		{"upcall=callback rebind=1 idle=spin", 2, vmm.IRQChipSplit},
	} {
		t.Run(fmt.Sprintf("%s cpus=%d irqchip=%s", c.args, c.cpus, c.irqchip), func(t *testing.T) {
			md := mode{trap: vmm.TrapKVM, evtchn: vmm.EvtchnKernel, irqchip: c.irqchip, needs: kernelEvtchn}
			if host&md.needs != md.needs {
				refused(t, md)
			}
			m, out := stormMachine(t, vmm.Config{CPUs: c.cpus, HostEvents: sources + 1, Trap: md.trap, Evtchn: md.evtchn, IRQChip: md.irqchip}, c.args)
			events := m.HostEvents()[1:]
			for range rounds {
				for _, e := range events {
					if err := e.Signal(); err != nil {
						t.Fatal(err)
					}
					awaitTaken(t, m, e.Port())
				}
			}
			finish(t, m)
			for _, e := range events {
				if n := out.taken(t, e.Port()); n != rounds {
					t.Errorf("port %d: the guest took %d of %d events", e.Port(), n, rounds)
				}
				if s := e.Stats(); s.Taken != 0 || s.Delivered != 0 {
					t.Errorf("port %d was delivered by this program: %+v", e.Port(), s)
				}
			}
		})
	}
}

// TestKVMKernelLosesNothingWhileSharedInfoMoves sends without waiting, while the
// guest moves the page about: what comes last at each port must be seen.
func TestKVMKernelLosesNothingWhileSharedInfoMoves(t *testing.T) {
	md := mode{trap: vmm.TrapKVM, evtchn: vmm.EvtchnKernel, irqchip: vmm.IRQChipFull, needs: kernelEvtchn}
	if hostXen(t)&md.needs != md.needs {
		refused(t, md)
	}
	const sources, rounds = 6, 200
	m, out := stormMachine(t, vmm.Config{CPUs: 2, HostEvents: sources + 1, Trap: md.trap, Evtchn: md.evtchn}, "moves=30")
	for range rounds {
		for _, e := range m.HostEvents()[1:] {
			if err := e.Signal(); err != nil {
				t.Fatal(err)
			}
		}
	}
	finish(t, m)
	for _, e := range m.HostEvents()[1:] {
		if n := out.taken(t, e.Port()); n < 1 || n > rounds {
			t.Errorf("port %d: the guest took %d events of %d writes", e.Port(), n, rounds)
		}
	}
}

// TestKVMLinesStayWithThisProgram: KVM has no way to interrupt by a line.
func TestKVMLinesStayWithThisProgram(t *testing.T) {
	md := mode{trap: vmm.TrapKVM, evtchn: vmm.EvtchnKernel, irqchip: vmm.IRQChipFull, needs: kernelEvtchn}
	if hostXen(t)&md.needs != md.needs {
		refused(t, md)
	}
	m, out := stormMachine(t, vmm.Config{CPUs: 1, HostEvents: 3, Trap: md.trap, Evtchn: md.evtchn}, "upcall=gsi")
	for _, e := range m.HostEvents()[1:] {
		if err := e.Signal(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-e.Taken(1):
		case <-time.After(limit):
			t.Fatalf("port %d: nobody took the event", e.Port())
		}
	}
	finish(t, m)
	for _, e := range m.HostEvents()[1:] {
		if n, s := out.taken(t, e.Port()), e.Stats(); n != 1 || s.Delivered != 1 {
			t.Errorf("port %d: the guest took %d, this program delivered %d; want 1", e.Port(), n, s.Delivered)
		}
	}
}

// TestKVMKernelServesWhatTheGuestSends lets a guest send to itself by loopback
// channels, and looks who delivered it.
func TestKVMKernelServesWhatTheGuestSends(t *testing.T) {
	host := hostXen(t)
	image, _ := guest.Image("storm")
	const sends = 300
	for _, md := range []mode{
		{trap: vmm.TrapAuto, evtchn: vmm.EvtchnUser, irqchip: vmm.IRQChipFull},
		{trap: vmm.TrapKVM, evtchn: vmm.EvtchnKernel, irqchip: vmm.IRQChipFull, needs: kernelEvtchn},
	} {
		t.Run(md.String(), func(t *testing.T) {
			if host&md.needs != md.needs {
				refused(t, md)
			}
			m, err := vmm.New(vmm.Config{
				Kernel: image, KernelName: "storm", CPUs: 2, Cmdline: fmt.Sprintf("cpus=2 self=%d", sends), Trap: md.trap, Evtchn: md.evtchn,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if err := m.Start(); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			expect(t, m.Wait(ctx), vmm.Poweroff, vmm.Pass)
			ours := m.Stats().Events.Delivered + m.Stats().Events.Coalesced
			t.Logf("%d of some %d events were this program's", ours, sends)
			if (md.evtchn == vmm.EvtchnUser) != (ours >= sends) {
				t.Errorf("evtchn=%s, and this program delivered %d events of %d sends", md.evtchn, ours, sends)
			}
		})
	}
}
