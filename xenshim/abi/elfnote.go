// SPDX-License-Identifier: Apache-2.0

package abi

import "strconv"

// ElfNoteOwner is the owner name of Xen's ELF notes (public/elfnote.h).
const ElfNoteOwner = "Xen"

// ElfNote is the type of an ELF note owned by "Xen" (public/elfnote.h).
type ElfNote uint32

// The note types a kernel image may carry.
const (
	ElfNoteInfo              ElfNote = 0
	ElfNoteEntry             ElfNote = 1
	ElfNoteHypercallPage     ElfNote = 2
	ElfNoteVirtBase          ElfNote = 3
	ElfNotePaddrOffset       ElfNote = 4
	ElfNoteXenVersion        ElfNote = 5
	ElfNoteGuestOS           ElfNote = 6
	ElfNoteGuestVersion      ElfNote = 7
	ElfNoteLoader            ElfNote = 8
	ElfNotePAEMode           ElfNote = 9
	ElfNoteFeatures          ElfNote = 10
	ElfNoteBSDSymtab         ElfNote = 11
	ElfNoteHVStartLow        ElfNote = 12
	ElfNoteL1MFNValid        ElfNote = 13
	ElfNoteSuspendCancel     ElfNote = 14
	ElfNoteInitP2M           ElfNote = 15
	ElfNoteModStartPFN       ElfNote = 16
	ElfNoteSupportedFeatures ElfNote = 17
	ElfNotePhys32Entry       ElfNote = 18 // physical address of the PVH entry point
	ElfNotePhys32Reloc       ElfNote = 19 // the image may be moved: alignment, min, max
)

// String gives the note's name as in public/elfnote.h without its prefix.
func (n ElfNote) String() string {
	switch n {
	case ElfNoteInfo:
		return "INFO"
	case ElfNoteEntry:
		return "ENTRY"
	case ElfNoteHypercallPage:
		return "HYPERCALL_PAGE"
	case ElfNoteVirtBase:
		return "VIRT_BASE"
	case ElfNotePaddrOffset:
		return "PADDR_OFFSET"
	case ElfNoteXenVersion:
		return "XEN_VERSION"
	case ElfNoteGuestOS:
		return "GUEST_OS"
	case ElfNoteGuestVersion:
		return "GUEST_VERSION"
	case ElfNoteLoader:
		return "LOADER"
	case ElfNotePAEMode:
		return "PAE_MODE"
	case ElfNoteFeatures:
		return "FEATURES"
	case ElfNoteBSDSymtab:
		return "BSD_SYMTAB"
	case ElfNoteHVStartLow:
		return "HV_START_LOW"
	case ElfNoteL1MFNValid:
		return "L1_MFN_VALID"
	case ElfNoteSuspendCancel:
		return "SUSPEND_CANCEL"
	case ElfNoteInitP2M:
		return "INIT_P2M"
	case ElfNoteModStartPFN:
		return "MOD_START_PFN"
	case ElfNoteSupportedFeatures:
		return "SUPPORTED_FEATURES"
	case ElfNotePhys32Entry:
		return "PHYS32_ENTRY"
	case ElfNotePhys32Reloc:
		return "PHYS32_RELOC"
	}
	return "note " + strconv.FormatUint(uint64(n), 10)
}

// IsString reports whether the note's descriptor is text rather than a number.
func (n ElfNote) IsString() bool {
	switch n {
	case ElfNoteInfo, ElfNoteXenVersion, ElfNoteGuestOS, ElfNoteGuestVersion,
		ElfNoteLoader, ElfNotePAEMode, ElfNoteFeatures, ElfNoteBSDSymtab:
		return true
	}
	return false
}
