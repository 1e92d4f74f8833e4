// SPDX-License-Identifier: Apache-2.0

package abi

// SchedPoll holds the byte offsets in struct sched_poll (public/sched.h).
// Ports is a guest pointer to 32-bit port numbers, Timeout an absolute guest
// time in ns (0 none).
type SchedPoll struct{ Size, Ports, NrPorts, Timeout uint32 }

// SchedPollLayout returns the layout for w.
func SchedPollLayout(w Width) SchedPoll {
	if w == Width32 {
		return SchedPoll{Size: 16, Ports: 0, NrPorts: 4, Timeout: 8}
	}
	return SchedPoll{Size: 24, Ports: 0, NrPorts: 8, Timeout: 16}
}

// Sizes of sched_op arguments that do not depend on the width.
const (
	SchedShutdownSize       = 4 // u32 reason
	SchedRemoteShutdownSize = 8 // u16 domain at 0, u32 reason at 4
	SchedWatchdogSize       = 8 // u32 id at 0, u32 timeout in seconds at 4
	SchedWatchdogs          = 2
	SchedopPinOverride      = 7
)
