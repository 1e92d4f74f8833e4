// SPDX-License-Identifier: Apache-2.0

package vmm

import "fmt"

// Ending is how a machine ended.
type Ending uint8

// Endings. The command's exit codes follow them (docs/exit-codes.md).
const (
	Running     Ending = iota // not ended
	Poweroff                  // SHUTDOWN_poweroff, or a poweroff by other means
	Reboot                    // SHUTDOWN_reboot, reset port, keyboard controller
	Crash                     // SHUTDOWN_crash: the guest says it has crashed
	Watchdog                  // SHUTDOWN_watchdog, or a guest watchdog ran out
	TripleFault               // a processor met a fault it could not report to the guest
	Stuck                     // the guest cannot be run any further; Detail says why
	Timeout                   // the time allowed was over
	Closed                    // the host ended it: Close, a cancelled context, Ctrl-a x
	HostFailure               // a call of the host's failed; Err wraps it
)

var endingNames = [...]string{
	"running", "poweroff", "reboot", "crash", "watchdog", "triple fault", "stuck", "timeout", "closed", "host failure",
}

// String is a short name in lower case.
func (e Ending) String() string {
	if int(e) < len(endingNames) {
		return endingNames[e]
	}
	return fmt.Sprintf("ending %d", uint8(e))
}

// MarshalText makes JSON hold the name.
func (e Ending) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// Status describes the end of a machine.
type Status struct {
	Ending Ending `json:"ending"`
	// VCPU and RIP are where it ended, for TripleFault and Stuck.
	VCPU   int    `json:"vcpu"`
	RIP    uint64 `json:"rip"`
	Detail string `json:"detail,omitempty"`
	// Verdict is the guest test's last word, nil if it gave none.
	Verdict *Verdict `json:"verdict,omitempty"`
	// Tail is the guest's last console lines.
	Tail []string `json:"console_tail,omitempty"`
	// Diagnosis is where the vCPUs were, for TripleFault, Stuck, Timeout and
	// HostFailure.
	Diagnosis *Diagnosis `json:"diagnosis,omitempty"`
	Err       error      `json:"-"`
}

// String is one line for people.
func (s Status) String() string {
	switch s.Ending {
	case TripleFault, Stuck:
		if s.RIP == 0 { // it is about the machine, not a place in the guest
			return fmt.Sprintf("guest %s: %s", s.Ending, s.Detail)
		}
		return fmt.Sprintf("guest %s: vcpu %d at RIP %#x: %s", s.Ending, s.VCPU, s.RIP, s.Detail)
	case HostFailure:
		return fmt.Sprintf("vcpu %d: %s", s.VCPU, s.Detail)
	}
	if s.Detail != "" {
		return fmt.Sprintf("guest %s: %s", s.Ending, s.Detail)
	}
	return "guest " + s.Ending.String()
}
