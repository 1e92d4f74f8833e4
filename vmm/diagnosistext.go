// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"fmt"
	"strings"

	"xenvmm/xenshim"
)

// Lines tells the diagnosis to people: three or four lines for each vCPU and those
// for the event channels' bits, about sixty at most. There are none for nil.
func (d *Diagnosis) Lines() []string {
	if d == nil {
		return nil
	}
	var out []string
	for i := range d.VCPUs {
		v := &d.VCPUs[i]
		say := func(format string, args ...any) {
			out = append(out, fmt.Sprintf("vcpu %d: ", v.VCPU)+fmt.Sprintf(format, args...))
		}
		if v.State == "busy" {
			say("its thread is busy outside the guest and does not answer; %s", v.exits())
		} else {
			say("%s at RIP %#x, CS %#x (ring %d), RFLAGS %#x (interrupts %s); %s", v.State, v.RIP, v.CS, v.CPL, v.RFLAGS, onOff(v.RFLAGS&rflagsIF != 0), v.exits())
			if v.CS == resetCS && v.RIP == resetRIP && v.Exits > 0 {
				say("this is the state after a reset: KVM on AMD's processors loses what a vcpu was at when it met a triple fault")
			}
			say("local APIC: %s; in flight: %s", v.LAPIC, listOr(v.InFlight, "nothing"))
		}
		if v.Error != "" {
			say("%s", v.Error)
		}
		say("%s, upcall by %s%s", d.vcpuInfo(i), v.Upcall, map[bool]string{true: ", owed"}[v.UpcallOwed])
	}
	if d.More > 0 {
		out = append(out, fmt.Sprintf("%d vcpus more", d.More))
	}
	return append(out, eventLines(d.Events)...)
}

const (
	rflagsIF = 1 << 9
	// Where a processor begins after a reset.
	resetCS, resetRIP = 0xf000, 0xfff0
)

func (v *VCPUState) exits() string {
	if v.Exits == 0 {
		return "no exit yet"
	}
	return fmt.Sprintf("%d exits, last %s at %#x", v.Exits, v.LastExit, v.LastRIP)
}

func (d *Diagnosis) vcpuInfo(i int) string {
	if d.Events == nil || i >= len(d.Events.VCPUs) || !d.Events.VCPUs[i].Present {
		return "no vcpu_info"
	}
	e := d.Events.VCPUs[i]
	return fmt.Sprintf("vcpu_info at %#x: upcall_pending %d, pending_sel %#x", e.GPA, e.UpcallPending, e.PendingSel)
}

func eventLines(e *xenshim.EventState) []string {
	switch {
	case e == nil:
		return []string{"guest memory could not be read in time"}
	case !e.SharedInfo:
		return []string{"shared_info is not mapped"}
	case len(e.Ports) == 0:
		return []string{fmt.Sprintf("shared_info at %#x: no port is pending", e.SharedInfoGPA)}
	}
	var out []string
	for _, w := range e.Ports {
		out = append(out, fmt.Sprintf("shared_info at %#x: ports from %d: pending %#x, mask %#x", e.SharedInfoGPA, w.First, w.Pending, w.Mask))
	}
	if e.More > 0 {
		out = append(out, fmt.Sprintf("%d words more with pending ports", e.More))
	}
	return out
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func listOr(l []string, none string) string {
	if len(l) == 0 {
		return none
	}
	return strings.Join(l, ", ")
}
