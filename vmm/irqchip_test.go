// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"strings"
	"testing"

	"xenvmm/vmm/irq"
)

// Without an IOAPIC a guest may name a line, and is stopped when it would have to
// be interrupted there.
func TestAGuestThatNeedsALineIsToldOfWhereThereIsNone(t *testing.T) {
	for _, c := range []struct {
		name   string
		vector uint8
		cb     irq.Callback
		vcpu   int
		want   string
	}{
		{"by a line", 0, irq.Callback{Type: irq.CallbackGSI, GSI: 9}, 0, "interrupt line 9"},
		{"by a pin", 0, irq.Callback{Type: irq.CallbackINTx, Device: 3, Pin: 2}, 0, "interrupt line 22"},
		{"by a line, for another vCPU", 0, irq.Callback{Type: irq.CallbackGSI, GSI: 9}, 1, ""},
		{"by its own vector, though it names a line", 0xf3, irq.Callback{Type: irq.CallbackGSI, GSI: 1}, 0, ""},
		{"by the domain's vector", 0, irq.Callback{Type: irq.CallbackVector, Vector: 0xf3}, 0, ""},
		{"by nothing", 0, irq.Callback{}, 0, ""},
	} {
		told := ""
		ic := irq.New(irq.Config{
			VCPUs: 2, APICID: apicID, Sender: accepts{}, Kicker: accepts{}, Pending: func(int) bool { return false },
			Lines: noLines{func(why string) { told = why }},
		})
		ic.SetVector(0, c.vector)
		if err := ic.SetCallback(c.cb); err != nil {
			t.Fatal(err)
		}
		if told != "" {
			t.Errorf("%s: stopped before there is an event: %s", c.name, told)
		}
		ic.Upcall(c.vcpu)
		if (told == "") != (c.want == "") || !strings.Contains(told, c.want) || c.want != "" && !strings.Contains(told, "--irqchip full") {
			t.Errorf("%s: told %q, want %q", c.name, told, c.want)
		}
		if err := ic.Close(); err != nil {
			t.Error(err)
		}
	}
}

// accepts takes messages and kicks.
type accepts struct{}

func (accepts) SignalMSI(uint64, uint32) (bool, error) { return true, nil }
func (accepts) Kick(int)                               {}
