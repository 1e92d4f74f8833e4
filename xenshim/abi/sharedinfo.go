// SPDX-License-Identifier: Apache-2.0

package abi

// Width is the word size in which a guest and the hypervisor share
// structures: 8 bytes for a 64-bit guest, 4 for a 32-bit one.
type Width uint8

// The two widths.
const (
	Width32 Width = 4
	Width64 Width = 8
)

// Bits is the number of bits in a guest word.
func (w Width) Bits() uint32 { return uint32(w) * 8 }

// SharedInfoLayout holds byte offsets in the shared_info page for one width
// (struct shared_info, public/xen.h and arch-x86/xen.h).
type SharedInfoLayout struct {
	Width         Width
	Ports         uint32 // number of 2-level ports
	EvtchnPending uint32
	EvtchnMask    uint32
	WCVersion     uint32
	WCSec         uint32
	WCNsec        uint32
	WCSecHi       uint32
	Arch          uint32
	// Offsets in struct vcpu_info.
	VCPUPendingSel uint32
}

// Offsets in struct vcpu_info that do not depend on the width.
const (
	VCPUInfoSize          = 64
	VCPUInfoUpcallPending = 0 // u8
	VCPUInfoUpcallMask    = 1 // u8, not honoured for HVM guests
	VCPUInfoTime          = 32
	VCPUTimeInfoSize      = 32
	// SharedInfoVCPUs is how many vcpu_info the shared_info page holds; a vCPU
	// with a higher number has none until it registers one.
	SharedInfoVCPUs = 32
)

// Layout returns the offsets for w; any value but Width32 means 64-bit.
func Layout(w Width) SharedInfoLayout {
	if w == Width32 {
		return SharedInfoLayout{
			Width: Width32, Ports: EvtchnPorts32,
			EvtchnPending: 0x800, EvtchnMask: 0x880,
			WCVersion: 0x900, WCSec: 0x904, WCNsec: 0x908, WCSecHi: 0x924,
			Arch: 0x90c, VCPUPendingSel: 4,
		}
	}
	return SharedInfoLayout{
		Width: Width64, Ports: EvtchnPorts64,
		EvtchnPending: 0x800, EvtchnMask: 0xa00,
		WCVersion: 0xc00, WCSec: 0xc04, WCNsec: 0xc08, WCSecHi: 0xc0c,
		Arch: 0xc10, VCPUPendingSel: 8,
	}
}

// pvclock (struct vcpu_time_info, public/xen.h): byte offsets.
const (
	PvclockVersion      = 0  // u32, odd while being updated
	PvclockTSCTimestamp = 8  // u64
	PvclockSystemTime   = 16 // u64, ns
	PvclockMul          = 24 // u32
	PvclockShift        = 28 // i8
	PvclockFlags        = 29 // u8, bit 0 TSC stable
	PvclockFlagStable   = 1
)

// CPUID leaves (public/arch-x86/cpuid.h).
const (
	CPUIDBase       = 0x40000000
	CPUIDSignatureB = 0x566e6558 // "XenV"
	CPUIDSignatureC = 0x65584d4d // "MMXe"
	CPUIDSignatureD = 0x4d4d566e // "nVMM"
	CPUIDMaxLeaf    = CPUIDBase + 5

	CPUIDHVMVCPUIDPresent = 1 << 3
	CPUIDHVMDomIDPresent  = 1 << 4
	CPUIDHVMUpcallVector  = 1 << 6

	// HypercallMSR is the MSR index announced in leaf base+2; a guest writes
	// the gpa of its hypercall page to it.
	HypercallMSR = 0x40000000
)

// Rings (public/io/xs_wire.h, public/io/console.h): byte offsets in the page.
const (
	XenstoreRingSize   = 1024
	XenstoreReq        = 0
	XenstoreRsp        = 1024
	XenstoreReqCons    = 2048
	XenstoreReqProd    = 2052
	XenstoreRspCons    = 2056
	XenstoreRspProd    = 2060
	XenstoreFeatures   = 2064
	XenstoreConnection = 2068
	XenstoreError      = 2072
	XenstoreEvtchnPort = 2076
	XenstorePayloadMax = 4096
	XenstoreAbsPathMax = 3072
	XenstoreRelPathMax = 2048
	ConsoleInSize      = 1024
	ConsoleOutSize     = 2048
	ConsoleIn          = 0
	ConsoleOut         = 1024
	ConsoleInCons      = 3072
	ConsoleInProd      = 3076
	ConsoleOutCons     = 3080
	ConsoleOutProd     = 3084
	ConsoleConnection  = 3088
	PageSize           = 4096
	PageShift          = 12
)
