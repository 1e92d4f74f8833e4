// SPDX-License-Identifier: Apache-2.0

package abi

// DomID is a domain identifier (domid_t, public/xen.h).
type DomID uint16

// Special domain identifiers.
const (
	DomIDSelf    DomID = 0x7ff0
	DomIDIO      DomID = 0x7ff1
	DomIDXen     DomID = 0x7ff2
	DomIDInvalid DomID = 0x7ff4
	DomIDBackend DomID = 0 // dom0: where the VMM's own backends live
)

// event_channel_op commands (public/event_channel.h).
const (
	EvtchnopBindInterdomain = 0
	EvtchnopBindVIRQ        = 1
	EvtchnopBindPIRQ        = 2
	EvtchnopClose           = 3
	EvtchnopSend            = 4
	EvtchnopStatus          = 5
	EvtchnopAllocUnbound    = 6
	EvtchnopBindIPI         = 7
	EvtchnopBindVCPU        = 8
	EvtchnopUnmask          = 9
	EvtchnopReset           = 10
	EvtchnopInitControl     = 11
	EvtchnopExpandArray     = 12
	EvtchnopSetPriority     = 13
)

// EVTCHNSTAT_* values of evtchn_status (public/event_channel.h).
const (
	EvtchnStatClosed      = 0
	EvtchnStatUnbound     = 1
	EvtchnStatInterdomain = 2
	EvtchnStatPIRQ        = 3
	EvtchnStatVIRQ        = 4
	EvtchnStatIPI         = 5
)

// Virtual interrupts (public/xen.h). VIRQs 0, 1, 7 and 13 are per vCPU, the rest
// global; an HVM guest binds TIMER and DEBUG.
const (
	VIRQTimer     = 0
	VIRQDebug     = 1
	VIRQConsole   = 2
	VIRQDomExc    = 3
	VIRQTbuf      = 4
	VIRQDebugger  = 6
	VIRQXenoprof  = 7
	VIRQConRing   = 8
	VIRQPCPUState = 9
	VIRQMemEvent  = 10
	VIRQArgo      = 11
	VIRQEnomem    = 12
	VIRQXenPMU    = 13
	NrVIRQs       = 24
)

// Limits of the 2-level ABI.
const (
	EvtchnPorts64 = 4096
	EvtchnPorts32 = 1024
)
