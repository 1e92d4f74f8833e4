// SPDX-License-Identifier: Apache-2.0

package kvm

import "strconv"

// Cap is a KVM capability number (KVM_CAP_* of linux/kvm.h). The kernel's
// numbers outgrow gokvm's 8-bit type, hence our own.
type Cap uint32

// Capabilities this VMM asks for.
const (
	CapIRQChip                  Cap = 0
	CapUserMemory               Cap = 3
	CapSetTSSAddr               Cap = 4
	CapExtCPUID                 Cap = 7
	CapNrVCPUs                  Cap = 9
	CapNrMemslots               Cap = 10
	CapMPState                  Cap = 14
	CapSyncMMU                  Cap = 16
	CapDestroyMemoryRegionWorks Cap = 21
	CapUserNMI                  Cap = 22
	CapSetGuestDebug            Cap = 23
	CapIRQRouting               Cap = 25
	CapIRQFD                    Cap = 32
	CapPIT2                     Cap = 33
	CapIOEventFD                Cap = 36
	CapSetIdentityMapAddr       Cap = 37
	CapXenHVM                   Cap = 38
	CapAdjustClock              Cap = 39
	CapInternalErrorData        Cap = 40
	CapVCPUEvents               Cap = 41
	CapHyperV                   Cap = 44
	CapDebugRegs                Cap = 50
	CapXSave                    Cap = 55
	CapXCRS                     Cap = 56
	CapTSCControl               Cap = 60
	CapGetTSCKHz                Cap = 61
	CapMaxVCPUs                 Cap = 66
	CapTSCDeadlineTimer         Cap = 72
	CapSyncRegs                 Cap = 74
	CapKVMClockCtrl             Cap = 76
	CapSignalMSI                Cap = 77
	CapReadonlyMem              Cap = 81
	CapIRQFDResample            Cap = 82
	CapDeviceCtrl               Cap = 89
	CapEnableCapVM              Cap = 98
	CapCheckExtensionVM         Cap = 105
	CapDisableQuirks            Cap = 116
	CapGuestDebugHWBPs          Cap = 119
	CapSplitIRQChip             Cap = 121
	CapHyperVSynIC              Cap = 123
	CapMaxVCPUID                Cap = 128
	CapX2APICAPI                Cap = 129
	CapImmediateExit            Cap = 136
	CapX86DisableExits          Cap = 143
	CapHaltPoll                 Cap = 182
	CapX86UserSpaceMSR          Cap = 188
	CapX86MSRFilter             Cap = 189
	CapEnforcePVFeatureCPUID    Cap = 190
	CapDirtyLogRing             Cap = 192
	CapSREGS2                   Cap = 200
	CapExitHypercall            Cap = 201
	CapBinaryStatsFD            Cap = 203
	CapExitOnEmulationFailure   Cap = 204
	CapXSave2                   Cap = 208
	CapDisableQuirks2           Cap = 213
	CapSystemEventData          Cap = 215
	CapX86TripleFaultEvent      Cap = 218
	CapX86NotifyVMExit          Cap = 219
)

var capNames = map[Cap]string{
	CapIRQChip:                  "IRQCHIP",
	CapUserMemory:               "USER_MEMORY",
	CapSetTSSAddr:               "SET_TSS_ADDR",
	CapExtCPUID:                 "EXT_CPUID",
	CapNrVCPUs:                  "NR_VCPUS",
	CapNrMemslots:               "NR_MEMSLOTS",
	CapMPState:                  "MP_STATE",
	CapSyncMMU:                  "SYNC_MMU",
	CapDestroyMemoryRegionWorks: "DESTROY_MEMORY_REGION_WORKS",
	CapUserNMI:                  "USER_NMI",
	CapSetGuestDebug:            "SET_GUEST_DEBUG",
	CapIRQRouting:               "IRQ_ROUTING",
	CapIRQFD:                    "IRQFD",
	CapPIT2:                     "PIT2",
	CapIOEventFD:                "IOEVENTFD",
	CapSetIdentityMapAddr:       "SET_IDENTITY_MAP_ADDR",
	CapXenHVM:                   "XEN_HVM",
	CapAdjustClock:              "ADJUST_CLOCK",
	CapInternalErrorData:        "INTERNAL_ERROR_DATA",
	CapVCPUEvents:               "VCPU_EVENTS",
	CapHyperV:                   "HYPERV",
	CapDebugRegs:                "DEBUGREGS",
	CapXSave:                    "XSAVE",
	CapXCRS:                     "XCRS",
	CapTSCControl:               "TSC_CONTROL",
	CapGetTSCKHz:                "GET_TSC_KHZ",
	CapMaxVCPUs:                 "MAX_VCPUS",
	CapTSCDeadlineTimer:         "TSC_DEADLINE_TIMER",
	CapSyncRegs:                 "SYNC_REGS",
	CapKVMClockCtrl:             "KVMCLOCK_CTRL",
	CapSignalMSI:                "SIGNAL_MSI",
	CapReadonlyMem:              "READONLY_MEM",
	CapIRQFDResample:            "IRQFD_RESAMPLE",
	CapDeviceCtrl:               "DEVICE_CTRL",
	CapEnableCapVM:              "ENABLE_CAP_VM",
	CapCheckExtensionVM:         "CHECK_EXTENSION_VM",
	CapDisableQuirks:            "DISABLE_QUIRKS",
	CapGuestDebugHWBPs:          "GUEST_DEBUG_HW_BPS",
	CapSplitIRQChip:             "SPLIT_IRQCHIP",
	CapHyperVSynIC:              "HYPERV_SYNIC",
	CapMaxVCPUID:                "MAX_VCPU_ID",
	CapX2APICAPI:                "X2APIC_API",
	CapImmediateExit:            "IMMEDIATE_EXIT",
	CapX86DisableExits:          "X86_DISABLE_EXITS",
	CapHaltPoll:                 "HALT_POLL",
	CapX86UserSpaceMSR:          "X86_USER_SPACE_MSR",
	CapX86MSRFilter:             "X86_MSR_FILTER",
	CapEnforcePVFeatureCPUID:    "ENFORCE_PV_FEATURE_CPUID",
	CapDirtyLogRing:             "DIRTY_LOG_RING",
	CapSREGS2:                   "SREGS2",
	CapExitHypercall:            "EXIT_HYPERCALL",
	CapBinaryStatsFD:            "BINARY_STATS_FD",
	CapExitOnEmulationFailure:   "EXIT_ON_EMULATION_FAILURE",
	CapXSave2:                   "XSAVE2",
	CapDisableQuirks2:           "DISABLE_QUIRKS2",
	CapSystemEventData:          "SYSTEM_EVENT_DATA",
	CapX86TripleFaultEvent:      "X86_TRIPLE_FAULT_EVENT",
	CapX86NotifyVMExit:          "X86_NOTIFY_VMEXIT",
}

// String is the kernel's name without the KVM_CAP_ prefix.
func (c Cap) String() string {
	if n, ok := capNames[c]; ok {
		return n
	}
	return "capability " + strconv.FormatUint(uint64(c), 10)
}
