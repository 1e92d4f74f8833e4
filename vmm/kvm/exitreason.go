// SPDX-License-Identifier: Apache-2.0

package kvm

import "strconv"

// ExitReason is why KVM_RUN returned (KVM_EXIT_* of linux/kvm.h).
type ExitReason uint32

const (
	ExitUnknown        ExitReason = 0
	ExitException      ExitReason = 1
	ExitIO             ExitReason = 2
	ExitHypercall      ExitReason = 3
	ExitDebug          ExitReason = 4
	ExitHLT            ExitReason = 5
	ExitMMIO           ExitReason = 6
	ExitIRQWindowOpen  ExitReason = 7
	ExitShutdown       ExitReason = 8 // triple fault
	ExitFailEntry      ExitReason = 9
	ExitIntr           ExitReason = 10
	ExitSetTPR         ExitReason = 11
	ExitTPRAccess      ExitReason = 12
	ExitS390SIEIC      ExitReason = 13
	ExitS390Reset      ExitReason = 14
	ExitDCR            ExitReason = 15
	ExitNMI            ExitReason = 16
	ExitInternalError  ExitReason = 17
	ExitOSI            ExitReason = 18
	ExitPAPRHcall      ExitReason = 19
	ExitS390UControl   ExitReason = 20
	ExitWatchdog       ExitReason = 21
	ExitS390TSCH       ExitReason = 22
	ExitEPR            ExitReason = 23
	ExitSystemEvent    ExitReason = 24
	ExitS390STSI       ExitReason = 25
	ExitIOAPICEOI      ExitReason = 26
	ExitHyperV         ExitReason = 27
	ExitARMNISV        ExitReason = 28
	ExitRDMSR          ExitReason = 29
	ExitWRMSR          ExitReason = 30
	ExitDirtyRingFull  ExitReason = 31
	ExitAPResetHold    ExitReason = 32
	ExitBusLock        ExitReason = 33
	ExitXen            ExitReason = 34
	ExitRISCVSBI       ExitReason = 35
	ExitRISCVCSR       ExitReason = 36
	ExitNotify         ExitReason = 37
	ExitLoongArchIOCSR ExitReason = 38
	ExitMemoryFault    ExitReason = 39
	ExitTDX            ExitReason = 40
)

// The kernel's names without KVM_EXIT_, by number.
var exitNames = [...]string{
	"UNKNOWN", "EXCEPTION", "IO", "HYPERCALL", "DEBUG", "HLT", "MMIO", "IRQ_WINDOW_OPEN",
	"SHUTDOWN", "FAIL_ENTRY", "INTR", "SET_TPR", "TPR_ACCESS", "S390_SIEIC", "S390_RESET", "DCR",
	"NMI", "INTERNAL_ERROR", "OSI", "PAPR_HCALL", "S390_UCONTROL", "WATCHDOG", "S390_TSCH", "EPR",
	"SYSTEM_EVENT", "S390_STSI", "IOAPIC_EOI", "HYPERV", "ARM_NISV", "X86_RDMSR", "X86_WRMSR", "DIRTY_RING_FULL",
	"AP_RESET_HOLD", "X86_BUS_LOCK", "XEN", "RISCV_SBI", "RISCV_CSR", "NOTIFY", "LOONGARCH_IOCSR", "MEMORY_FAULT",
	"TDX",
}

// String is the kernel's name without the KVM_EXIT_ prefix.
func (r ExitReason) String() string {
	if uint64(r) < uint64(len(exitNames)) {
		return exitNames[r]
	}
	return "exit reason " + strconv.FormatUint(uint64(r), 10)
}

// ExitReasons is the number of reasons known by name: the size of a table of
// counters indexed by reason, with one more cell for the unknown.
const ExitReasons = len(exitNames)
