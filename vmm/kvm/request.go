// SPDX-License-Identifier: Apache-2.0

package kvm

import gokvm "github.com/bobuhiro11/gokvm/kvm"

// Sizes of the argument structs that only this package defines, in bytes
// (linux/kvm.h and asm/kvm.h for x86-64).
const (
	sizeRunPage       = 2352 // struct kvm_run
	sizeRoutingHeader = 8
	sizeRoutingEntry  = 48
	sizeMSRsHeader    = 8
	sizeMSREntry      = 16
	sizeCPUIDHeader   = 8
	sizeCPUIDEntry    = 40
	sizeXSave         = 4096
)

// Request numbers. Numbers are those of linux/kvm.h; the builders are gokvm's.
var (
	reqGetAPIVersion    = gokvm.IIO(0x00)
	reqCreateVM         = gokvm.IIO(0x01)
	reqGetMSRIndexList  = gokvm.IIOWR(0x02, 4)
	reqCheckExtension   = gokvm.IIO(0x03)
	reqGetVCPUMmapSize  = gokvm.IIO(0x04)
	reqGetSupportedID   = gokvm.IIOWR(0x05, sizeCPUIDHeader)
	reqCreateVCPU       = gokvm.IIO(0x41)
	reqGetDirtyLog      = gokvm.IIOW(0x42, 16)
	reqSetUserMemRegion = gokvm.IIOW(0x46, 32)
	reqSetTSSAddr       = gokvm.IIO(0x47)
	reqSetIdentityMap   = gokvm.IIOW(0x48, 8)
	reqCreateIRQChip    = gokvm.IIO(0x60)
	reqIRQLine          = gokvm.IIOW(0x61, 8)
	reqGetIRQChip       = gokvm.IIOWR(0x62, 520)
	reqSetIRQChip       = gokvm.IIOR(0x63, 520)
	reqSetGSIRouting    = gokvm.IIOW(0x6a, sizeRoutingHeader)
	reqIRQFD            = gokvm.IIOW(0x76, 32)
	reqCreatePIT2       = gokvm.IIOW(0x77, 64)
	reqSetBootCPUID     = gokvm.IIO(0x78)
	reqIOEventFD        = gokvm.IIOW(0x79, 64)
	reqXenHVMConfig     = gokvm.IIOW(0x7a, 56)
	reqSetClock         = gokvm.IIOW(0x7b, 48)
	reqGetClock         = gokvm.IIOR(0x7c, 48)
	reqRun              = gokvm.IIO(0x80)
	reqGetRegs          = gokvm.IIOR(0x81, 144)
	reqSetRegs          = gokvm.IIOW(0x82, 144)
	reqGetSregs         = gokvm.IIOR(0x83, 312)
	reqSetSregs         = gokvm.IIOW(0x84, 312)
	reqTranslate        = gokvm.IIOWR(0x85, 24)
	reqInterrupt        = gokvm.IIOW(0x86, 4)
	reqGetMSRs          = gokvm.IIOWR(0x88, sizeMSRsHeader)
	reqSetMSRs          = gokvm.IIOW(0x89, sizeMSRsHeader)
	reqSetSignalMask    = gokvm.IIOW(0x8b, 4)
	reqGetFPU           = gokvm.IIOR(0x8c, 416)
	reqSetFPU           = gokvm.IIOW(0x8d, 416)
	reqGetLAPIC         = gokvm.IIOR(0x8e, 1024)
	reqSetLAPIC         = gokvm.IIOW(0x8f, 1024)
	reqSetCPUID2        = gokvm.IIOW(0x90, sizeCPUIDHeader)
	reqGetCPUID2        = gokvm.IIOWR(0x91, sizeCPUIDHeader)
	reqGetMPState       = gokvm.IIOR(0x98, 4)
	reqSetMPState       = gokvm.IIOW(0x99, 4)
	reqNMI              = gokvm.IIO(0x9a)
	reqSetGuestDebug    = gokvm.IIOW(0x9b, 72)
	reqGetVCPUEvents    = gokvm.IIOR(0x9f, 64)
	reqSetVCPUEvents    = gokvm.IIOW(0xa0, 64)
	reqGetDebugRegs     = gokvm.IIOR(0xa1, 128)
	reqSetDebugRegs     = gokvm.IIOW(0xa2, 128)
	reqSetTSCKHz        = gokvm.IIO(0xa2)
	reqGetTSCKHz        = gokvm.IIO(0xa3)
	reqEnableCap        = gokvm.IIOW(0xa3, 104)
	reqGetXSave         = gokvm.IIOR(0xa4, sizeXSave)
	reqSetXSave         = gokvm.IIOW(0xa5, sizeXSave)
	reqSignalMSI        = gokvm.IIOW(0xa5, 32)
	reqGetXCRS          = gokvm.IIOR(0xa6, 392)
	reqSetXCRS          = gokvm.IIOW(0xa7, 392)
	reqClockCtrl        = gokvm.IIO(0xad)
	reqSetMSRFilter     = gokvm.IIOW(0xc6, 392)
	reqXenHVMGetAttr    = gokvm.IIOWR(0xc8, 72)
	reqXenHVMSetAttr    = gokvm.IIOW(0xc9, 72)
	reqXenVCPUGetAttr   = gokvm.IIOWR(0xca, 72)
	reqXenVCPUSetAttr   = gokvm.IIOW(0xcb, 72)
	reqGetXSave2        = gokvm.IIOR(0xcf, sizeXSave)
	reqXenEvtchnSend    = gokvm.IIOW(0xd0, 12)
	reqCreateDevice     = gokvm.IIOWR(0xe0, 12)
	reqSetDeviceAttr    = gokvm.IIOW(0xe1, 24)
)
