// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"encoding/binary"
	"fmt"
	"strings"

	"xenvmm/vmm/kvm"
)

// Registers of the local APIC: byte offsets in kvm.LAPICState.Regs (Intel SDM
// vol. 3, "Local APIC Register Address Map").
const (
	lapicPPR          = 0xa0
	lapicSpurious     = 0xf0
	lapicISR          = 0x100 // 256 bits: 32 in each of 8 registers
	lapicIRR          = 0x200
	lapicTimer        = 0x320
	lapicTimerInitial = 0x380
	lapicTimerCurrent = 0x390
	lapicStride       = 0x10

	lapicEnabled    = 1 << 8  // of lapicSpurious
	lapicLVTMasked  = 1 << 16 // of lapicTimer
	lapicTimerModes = 3 << 17
	lapicDeadline   = 2 << 17
)

// LAPICState is what a vCPU's local APIC has before it.
type LAPICState struct {
	Enabled bool `json:"enabled"` // by software
	// Requested and InService are the vectors in IRR and ISR, lowest first.
	Requested []int  `json:"irr"`
	InService []int  `json:"isr"`
	Priority  uint32 `json:"ppr"`
	Timer     string `json:"timer"` // for people
}

func lapicState(l *kvm.LAPICState) LAPICState {
	reg := func(off int) uint32 { return binary.LittleEndian.Uint32(l.Regs[off:]) }
	vectors := func(at int) []int {
		set := []int{}
		for v := range 256 {
			if reg(at+v/32*lapicStride)>>(v%32)&1 != 0 {
				set = append(set, v)
			}
		}
		return set
	}
	return LAPICState{
		Enabled:   reg(lapicSpurious)&lapicEnabled != 0,
		Requested: vectors(lapicIRR), InService: vectors(lapicISR), Priority: reg(lapicPPR),
		Timer: timerText(reg(lapicTimer), reg(lapicTimerInitial), reg(lapicTimerCurrent)),
	}
}

func timerText(lvt, initial, current uint32) string {
	switch {
	case lvt&lapicLVTMasked != 0:
		return "masked"
	case lvt&lapicTimerModes == lapicDeadline:
		return fmt.Sprintf("vector %#x at a TSC deadline", lvt&0xff)
	case initial == 0:
		return fmt.Sprintf("vector %#x, stopped", lvt&0xff)
	}
	return fmt.Sprintf("vector %#x, %d of %d ticks left", lvt&0xff, current, initial)
}

// String is half a line.
func (l LAPICState) String() string {
	s := fmt.Sprintf("IRR %s, ISR %s, PPR %#x, timer %s", vectorList(l.Requested), vectorList(l.InService), l.Priority, l.Timer)
	if !l.Enabled {
		s = "disabled, " + s
	}
	return s
}

func vectorList(v []int) string {
	if len(v) == 0 {
		return "none"
	}
	const most = 8
	var b strings.Builder
	for i, n := range v[:min(len(v), most)] {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%#x", n)
	}
	if more := len(v) - most; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}
