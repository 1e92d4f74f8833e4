// SPDX-License-Identifier: Apache-2.0

package abi

// event_channel_op argument sizes (public/event_channel.h). The layouts do not
// depend on the width: 16-bit domains and 32-bit numbers, naturally aligned.
const (
	EvtchnBindInterdomainSize = 12 // dom u16 @0, remote port @4, local port out @8
	EvtchnBindVIRQSize        = 12 // virq @0, vcpu @4, port out @8
	EvtchnBindPIRQSize        = 12 // pirq @0, flags @4, port out @8
	EvtchnPortSize            = 4  // close, send, unmask
	EvtchnStatusSize          = 24 // dom u16 @0, port @4, status out @8, vcpu out @12, union out @16
	EvtchnAllocUnboundSize    = 8  // dom u16 @0, remote u16 @2, port out @4
	EvtchnBindIPISize         = 8  // vcpu @0, port out @4
	EvtchnBindVCPUSize        = 8  // port @0, vcpu @4
	EvtchnResetSize           = 2  // dom u16
	EvtchnInitControlSize     = 24 // gfn u64 @0, offset @8, vcpu @12, link bits out u8 @16
	EvtchnExpandArraySize     = 8  // gfn u64
	EvtchnSetPrioritySize     = 8  // port @0, priority @4
)

// hvm_op argument sizes and offsets (public/hvm/hvm_op.h); same in both widths.
const (
	HVMParamSize          = 16
	HVMParamDomID         = 0 // u16
	HVMParamIndex         = 4 // u32
	HVMParamValue         = 8 // u64
	HVMPagetableDyingSize = 16
	HVMGetTimeSize        = 8
	HVMXentraceSize       = 32
	HVMXentraceEvent      = 0 // u16
	HVMXentraceBytes      = 2 // u16
	HVMXentraceExtraMax   = 28
	HVMXentraceEventMask  = 0xfff
	HVMUpcallVectorSize   = 8
	HVMUpcallVectorVCPU   = 0 // u32
	HVMUpcallVectorVector = 4 // u8
)

// xen_version output sizes and offsets (public/version.h).
const (
	XenverExtraversionSize = 16
	XenverCompilerSize     = 64
	XenverCompileBy        = 64
	XenverCompileByLen     = 16
	XenverCompileDomain    = 80
	XenverCompileDomainLen = 32
	XenverCompileDate      = 112
	XenverCompileDateLen   = 32
	XenverCompileInfoSize  = 144
	XenverCapabilitiesSize = 1024
	XenverChangesetSize    = 64
	XenverFeatureInfoSize  = 8 // submap index in @0, bits out @4
	XenverGuestHandleSize  = 16
	XenverCommandLineSize  = 1024
)

// Multicall holds the byte offsets in struct multicall_entry (public/xen.h):
// every field is a guest word, Args six of them.
type Multicall struct{ Size, Op, Result, Args uint32 }

// MulticallLayout returns the layout for w.
func MulticallLayout(w Width) Multicall {
	if w == Width32 {
		return Multicall{Size: 32, Op: 0, Result: 4, Args: 8}
	}
	return Multicall{Size: 64, Op: 0, Result: 8, Args: 16}
}

// physdev_op map/unmap argument sizes (public/physdev.h).
const (
	PhysdevMapPirqSize64 = 40
	PhysdevMapPirqSize32 = 36
	PhysdevUnmapPirqSize = 8
)
