// SPDX-License-Identifier: Apache-2.0

package abi

// Hypercall numbers an HVM or PVH guest may use (public/xen.h).
const (
	HypercallMemoryOp       = 12
	HypercallMulticall      = 13
	HypercallSetTimerOp     = 15
	HypercallXenVersion     = 17
	HypercallConsoleIO      = 18
	HypercallGrantTableOp   = 20
	HypercallVMAssist       = 21
	HypercallVCPUOp         = 24
	HypercallMMUExtOp       = 26
	HypercallXSMOp          = 27
	HypercallSchedOp        = 29
	HypercallEventChannelOp = 32
	HypercallPhysdevOp      = 33
	HypercallHVMOp          = 34
	HypercallSysctl         = 35
	HypercallDomctl         = 36
	HypercallArgoOp         = 39
	HypercallXenPMUOp       = 40
	HypercallDMOp           = 41
	HypercallHypfsOp        = 42
)

// Hypercall page: one 32-byte stub per number (public/xen.h, "hypercall page").
const (
	HypercallPageStubs    = 128
	HypercallPageStubSize = 32
	HypercallIret         = 23 // its slot is UD2 for an HVM guest
)

// xen_version commands (public/version.h).
const (
	XenverVersion            = 0
	XenverExtraversion       = 1
	XenverCompileInfo        = 2
	XenverCapabilities       = 3
	XenverChangeset          = 4
	XenverPlatformParameters = 5
	XenverGetFeatures        = 6
	XenverPageSize           = 7
	XenverGuestHandle        = 8
	XenverCommandLine        = 9
	XenverBuildID            = 10
)

// XENVER_get_features bits of submap 0 (public/features.h).
const (
	FeatWritablePageTables   = 0
	FeatAutoTranslatedPhys   = 2
	FeatHVMCallbackVector    = 8
	FeatHVMSafePvclock       = 9
	FeatHVMPirqs             = 10
	FeatNotDirectMapped      = 16
	FeatRunstatePhysArea     = 18
	FeatVCPUTimePhysArea     = 19
	FeatureSubmaps           = 1
	XenVersion417            = 0x00040011 // major<<16 | minor
	FeatMemoryOpVnode        = 13
	FeatDMMSIXAllWrites      = 20
	FeatSupervisorModeKernel = 3 // must stay clear for an HVM guest
)

// memory_op commands; the low 6 bits are the command, the rest a continuation
// index (public/memory.h).
const (
	XenmemIncreaseReservation = 0
	XenmemDecreaseReservation = 1
	XenmemMaximumRAMPage      = 2
	XenmemCurrentReservation  = 3
	XenmemMaximumReservation  = 4
	XenmemPopulatePhysmap     = 6
	XenmemAddToPhysmap        = 7
	XenmemMemoryMap           = 9
	XenmemExchange            = 11
	XenmemSetMemoryMap        = 13
	XenmemMaximumGPFN         = 14
	XenmemRemoveFromPhysmap   = 15
	XenmemAddToPhysmapBatch   = 23

	XenmemCmdMask = 0x3f
)

// Map spaces of add_to_physmap (public/memory.h).
const (
	XenmapspaceSharedInfo = 0
	XenmapspaceGrantTable = 1
	XenmapspaceGmfn       = 2
	XenmapspaceGmfnRange  = 3
	XenmapspaceGmfnForeig = 4

	// XenmapidxGrantTableStatus selects status frames (grant table v2).
	XenmapidxGrantTableStatus = 1 << 31
)

// sched_op commands and shutdown reasons (public/sched.h).
const (
	SchedopYield          = 0
	SchedopBlock          = 1
	SchedopShutdown       = 2
	SchedopPoll           = 3
	SchedopRemoteShutdown = 4
	SchedopShutdownCode   = 5
	SchedopWatchdog       = 6

	ShutdownPoweroff  = 0
	ShutdownReboot    = 1
	ShutdownSuspend   = 2
	ShutdownCrash     = 3
	ShutdownWatchdog  = 4
	ShutdownSoftReset = 5
	ShutdownMax       = 5

	// SchedPollMaxPorts bounds sched_poll.nr_ports.
	SchedPollMaxPorts = 128
)

// vcpu_op commands (public/vcpu.h).
const (
	VCPUOpInitialise                        = 0
	VCPUOpUp                                = 1
	VCPUOpDown                              = 2
	VCPUOpIsUp                              = 3
	VCPUOpGetRunstateInfo                   = 4
	VCPUOpRegisterRunstateMemoryArea        = 5
	VCPUOpSetPeriodicTimer                  = 6
	VCPUOpStopPeriodicTimer                 = 7
	VCPUOpSetSingleshotTimer                = 8
	VCPUOpStopSingleshotTimer               = 9
	VCPUOpRegisterVCPUInfo                  = 10
	VCPUOpSendNMI                           = 11
	VCPUOpGetPhysid                         = 12
	VCPUOpRegisterVCPUTimeMemoryArea        = 13
	VCPUOpRegisterRunstatePhysArea          = 14
	VCPUOpRegisterVCPUTimePhysArea          = 15
	VCPUSingleshotFuture                    = 1 << 0 // ignored, as current Xen does
	VCPUHVMMode32B                          = 0
	VCPUHVMMode64B                          = 1
	RunstateRunning                         = 0
	RunstateRunnable                        = 1
	RunstateBlocked                         = 2
	RunstateOffline                         = 3
	RunstateUpdateFlag               uint64 = 1 << 63
	PeriodicTimerMinNs                      = 1_000_000 // 1 ms
)

// vm_assist (public/xen.h).
const (
	VMAssistCmdEnable          = 0
	VMAssistCmdDisable         = 1
	VMAssistRunstateUpdateFlag = 5
)

// console_io commands (public/xen.h).
const (
	ConsoleIOWrite = 0
	ConsoleIORead  = 1
)

// hvm_op commands and parameters (public/hvm/hvm_op.h, params.h).
const (
	HVMOpSetParam               = 0
	HVMOpGetParam               = 1
	HVMOpPagetableDying         = 9
	HVMOpGetTime                = 10
	HVMOpXentrace               = 11
	HVMOpSetEvtchnUpcallVector  = 23
	HVMParamCallbackIRQ         = 0
	HVMParamStorePFN            = 1
	HVMParamStoreEvtchn         = 2
	HVMParamPAEEnabled          = 4
	HVMParamIoreqPFN            = 5
	HVMParamBufioreqPFN         = 6
	HVMParamViridian            = 9
	HVMParamTimerMode           = 10
	HVMParamHPETEnabled         = 11
	HVMParamIdentPT             = 12
	HVMParamACPISState          = 14
	HVMParamVM86TSS             = 15
	HVMParamVPTAlign            = 16
	HVMParamConsolePFN          = 17
	HVMParamConsoleEvtchn       = 18
	HVMParamACPIIOPortsLocation = 19
	HVMParamVMGenerationIDAddr  = 34
	HVMParamAltp2m              = 35
	HVMParamX87FIPWidth         = 36
	HVMParamVM86TSSSized        = 37
	HVMParamMCACap              = 38
	HVMNrParams                 = 39

	// Callback types: bits 63:56 of HVM_PARAM_CALLBACK_IRQ.
	CallbackViaGSI       = 0
	CallbackViaPCIIntx   = 1
	CallbackViaVector    = 2
	CallbackViaTypeShift = 56

	// UpcallVectorMin is the lowest vector a LAPIC accepts.
	UpcallVectorMin = 0x10
)

// physdev_op commands (public/physdev.h).
const (
	PhysdevOpIRQStatusQuery = 5
	PhysdevOpEOI            = 12
	PhysdevOpMapPirq        = 13
	PhysdevOpUnmapPirq      = 14
	PhysdevOpGetFreePirq    = 23
)
