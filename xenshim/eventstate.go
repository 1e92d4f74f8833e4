// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"encoding/binary"

	"xenvmm/xenshim/abi"
)

// maxEventWords bounds EventState.Ports.
const maxEventWords = 8

// EventState is what guest memory says of the domain's events, for people who
// want to know why a guest does not get on. Nothing is held still while it is
// read.
type EventState struct {
	SharedInfoGPA uint64           `json:"shared_info_gpa"`
	SharedInfo    bool             `json:"shared_info_mapped"` // by the guest
	VCPUs         []VCPUEventState `json:"vcpus"`
	// Ports are the words of evtchn_pending that are not 0, at most eight; More is
	// the number left out.
	Ports []PortWord `json:"pending_words"`
	More  int        `json:"pending_words_left_out,omitempty"`
}

// VCPUEventState is one vCPU's vcpu_info.
type VCPUEventState struct {
	GPA           uint64 `json:"gpa"`
	Present       bool   `json:"present"` // the vCPU has one, and there is memory
	UpcallPending uint8  `json:"upcall_pending"`
	PendingSel    uint64 `json:"pending_sel"`
}

// PortWord is one guest word of evtchn_pending and evtchn_mask; bit 0 is port
// First.
type PortWord struct {
	First   uint32 `json:"first_port"`
	Pending uint64 `json:"pending"`
	Mask    uint64 `json:"mask"`
}

// EventState reads the state. It may be called from any goroutine.
func (d *Domain) EventState() EventState {
	var s EventState
	l := abi.Layout(d.events.Width())
	for i := range d.vcpus {
		s.VCPUs = append(s.VCPUs, d.vcpuEventState(i, l))
	}
	gfn, mapped := d.sharedInfo.GFN(0)
	if !mapped {
		return s
	}
	page := make([]byte, pageSize)
	if d.cfg.Memory.ReadAt(page, gfn<<pageShift) != nil {
		return s
	}
	s.SharedInfoGPA, s.SharedInfo = gfn<<pageShift, true
	bits := l.Width.Bits()
	for first := uint32(0); first < l.Ports; first += bits {
		w := PortWord{first, guestWord(page[l.EvtchnPending+first/8:], l.Width), guestWord(page[l.EvtchnMask+first/8:], l.Width)}
		switch {
		case w.Pending == 0:
		case len(s.Ports) == maxEventWords:
			s.More++
		default:
			s.Ports = append(s.Ports, w)
		}
	}
	return s
}

func (d *Domain) vcpuEventState(i int, l abi.SharedInfoLayout) (s VCPUEventState) {
	var info [abi.VCPUInfoSize]byte
	gpa, ok := d.events.VCPUInfoGPA(i)
	if !ok || d.cfg.Memory.ReadAt(info[:], gpa) != nil {
		return s
	}
	return VCPUEventState{
		GPA: gpa, Present: true,
		UpcallPending: info[abi.VCPUInfoUpcallPending],
		PendingSel:    guestWord(info[l.VCPUPendingSel:], l.Width),
	}
}

func guestWord(p []byte, w abi.Width) uint64 {
	if w == abi.Width32 {
		return uint64(binary.LittleEndian.Uint32(p))
	}
	return binary.LittleEndian.Uint64(p)
}
