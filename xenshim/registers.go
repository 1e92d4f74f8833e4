// SPDX-License-Identifier: Apache-2.0

package xenshim

// Registers are the general registers a hypercall uses. Hypercall writes RAX
// only.
type Registers struct {
	RAX, RBX, RCX, RDX, RSI, RDI, RBP, R8, R9, R10 uint64
}

// CPUState is the rest of the processor state a hypercall depends on.
type CPUState struct {
	CR0, CR3, CR4, EFER, RFLAGS uint64
	CSLong                      bool  // CS.L
	CPL                         uint8 // SS.DPL
}

// Processor bits the shim looks at (Intel SDM volume 3, sections 2.2 and 2.5).
const (
	cr0PE = 1 << 0
	cr0WP = 1 << 16
	cr0PG = 1 << 31

	cr4PSE  = 1 << 4
	cr4PAE  = 1 << 5
	cr4LA57 = 1 << 12
	cr4SMAP = 1 << 21

	eferSCE   = 1 << 0
	eferLME   = 1 << 8
	eferLMA   = 1 << 10
	eferNXE   = 1 << 11
	eferFFXSR = 1 << 14

	rflagsIF = 1 << 9
	rflagsVM = 1 << 17
	rflagsAC = 1 << 18
)

// long reports whether 64-bit code is running: the only mode with the 64-bit
// hypercall convention.
func (s *CPUState) long() bool { return s.EFER&eferLMA != 0 && s.CSLong }

// realMode reports whether the processor is in real mode.
func (s *CPUState) realMode() bool { return s.CR0&cr0PE == 0 }

// vm86 reports whether virtual 8086 code is running.
func (s *CPUState) vm86() bool {
	return s.CR0&cr0PE != 0 && s.RFLAGS&rflagsVM != 0 && s.EFER&eferLMA == 0
}

// OutcomeKind is what the run loop does after a hypercall.
type OutcomeKind uint8

// Outcome kinds, from least to most disruptive.
const (
	Resume   OutcomeKind = iota // enter the guest again
	Yield                       // let another thread run, then enter
	Block                       // wait for an event or interrupt, then enter
	Poll                        // wait for WakePoller, an interrupt or the deadline, call PollDone, then enter
	Offline                     // the vCPU went down: wait for VCPUUp
	Shutdown                    // the domain is going down; Platform.Shutdown has been called
)

// String names the kind for messages.
func (k OutcomeKind) String() string {
	names := [...]string{"resume", "yield", "block", "poll", "offline", "shutdown"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// Outcome is the result of a hypercall beside its return value, which is
// already in RAX.
type Outcome struct {
	Kind OutcomeKind
	// Deadline ends a Poll at this guest time in ns; 0 means none.
	Deadline uint64
}

// merge keeps the more disruptive outcome; a multicall has several.
func (o *Outcome) merge(n Outcome) {
	if n.Kind > o.Kind {
		*o = n
	}
}
