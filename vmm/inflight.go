// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"fmt"

	"xenvmm/vmm/kvm"
)

// inFlight names what a vCPU has not finished taking, and what keeps other
// events out (struct kvm_vcpu_events).
func inFlight(e *kvm.VCPUEvents) []string {
	var out []string
	add := func(on bool, format string, args ...any) {
		if on {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	add(e.E.Pending != 0, "exception %d pending", e.E.Nr)
	add(e.E.Inject != 0, "exception %d injected", e.E.Nr)
	add(e.I.Inject != 0, "interrupt %#x injected", e.I.Nr)
	add(e.I.Shadow&kvm.ShadowSTI != 0, "shadow of STI")
	add(e.I.Shadow&kvm.ShadowMovSS != 0, "shadow of MOV SS")
	add(e.N.Inject != 0, "NMI injected")
	add(e.N.Pending != 0, "NMI pending")
	add(e.N.Masked != 0, "NMIs masked")
	add(e.S.SMM != 0, "in SMM")
	return out
}
