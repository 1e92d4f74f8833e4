// SPDX-License-Identifier: Apache-2.0

package vcpu

import "fmt"

// StopReason is why a machine's vCPUs ended.
type StopReason uint8

// Reasons to stop.
const (
	StopNone        StopReason = iota
	StopClosed                 // the host closed the machine
	StopRequested              // the machine asked: guest shutdown, reset port, timeout
	StopTripleFault            // KVM_EXIT_SHUTDOWN
	StopSystemEvent            // KVM_EXIT_SYSTEM_EVENT
	StopEmulation              // KVM_EXIT_INTERNAL_ERROR: KVM could not go on with the guest
	StopEntry                  // KVM_EXIT_FAIL_ENTRY: the processor refused the guest's state
	StopUnknownExit            // an exit this monitor does not expect
	StopHost                   // a KVM call failed
)

var stopNames = [...]string{
	"running", "closed", "requested", "triple fault", "system event",
	"emulation failure", "entry failure", "unexpected exit", "host error",
}

// String is a short name.
func (r StopReason) String() string {
	if int(r) < len(stopNames) {
		return stopNames[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// Stop describes the end of a machine.
type Stop struct {
	Reason StopReason
	VCPU   int    // the vCPU that met it; meaningless for StopClosed and StopRequested
	RIP    uint64 // where that vCPU was
	Detail string // what KVM said, for people
	Code   uint32 // StopSystemEvent: KVM_SYSTEM_EVENT_*; StopRequested: the machine's own
	Err    error  // StopHost
}
