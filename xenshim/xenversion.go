// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// What xen_version tells about this hypervisor. An empty string where Xen has
// a build property keeps guests from matching on it.
const (
	extraVersion = ".0-xenvmm"
	compiler     = "go"
	compileBy    = "xenvmm"
	capabilities = "xen-3.0-x86_64 hvm-3.0-x86_32 hvm-3.0-x86_32p hvm-3.0-x86_64 "
	changeset    = "unavailable"
)

// features is submap 0 of XENVER_get_features. Bit 10 (hvm_pirqs) stays clear,
// which keeps interrupts of passed-through devices native, and bit 3
// (supervisor_mode_kernel) because it marks another kind of guest. Bit 19
// (vcpu_time_phys_area) stays clear with the operation it announces.
const features = 1<<abi.FeatWritablePageTables | 1<<abi.FeatAutoTranslatedPhys |
	1<<abi.FeatHVMCallbackVector | 1<<abi.FeatHVMSafePvclock |
	1<<abi.FeatNotDirectMapped | 1<<abi.FeatRunstatePhysArea

// xenVersion is xen_version(cmd, ptr). Every byte of an output structure is
// written, text padded with zeroes to its full size.
func (c *call) xenVersion(a *args) int64 {
	ptr := a[1]
	switch uint32(a[0]) {
	case abi.XenverVersion:
		return int64(c.d.cfg.Version)
	case abi.XenverExtraversion:
		return c.putText(ptr, extraVersion, abi.XenverExtraversionSize)
	case abi.XenverCompileInfo:
		p := c.zeroed(abi.XenverCompileInfoSize)
		putText(p[:abi.XenverCompilerSize], compiler)
		putText(p[abi.XenverCompileBy:][:abi.XenverCompileByLen], compileBy)
		return c.putOut(ptr, p)
	case abi.XenverCapabilities:
		return c.putText(ptr, capabilities, abi.XenverCapabilitiesSize)
	case abi.XenverChangeset:
		return c.putText(ptr, changeset, abi.XenverChangesetSize)
	case abi.XenverPlatformParameters:
		// The start of the hypervisor's area in the guest's address space: an
		// HVM guest has none.
		return c.putOut(ptr, c.zeroed(uint32(c.width)))
	case abi.XenverGetFeatures:
		p, ok := c.arg(ptr, abi.XenverFeatureInfoSize)
		if !ok {
			return errno(abi.EFAULT)
		}
		if u32(p, 0) >= abi.FeatureSubmaps {
			return errno(abi.EINVAL)
		}
		putU32(p, 4, features)
		return c.putOut(ptr, p)
	case abi.XenverPageSize:
		if ptr != 0 {
			return errno(abi.EINVAL)
		}
		return abi.PageSize
	case abi.XenverGuestHandle:
		p := c.zeroed(abi.XenverGuestHandleSize)
		copy(p, c.d.cfg.UUID[:])
		return c.putOut(ptr, p)
	case abi.XenverCommandLine:
		// The hypervisor's command line, not the guest kernel's.
		return c.putText(ptr, c.d.cfg.CommandLine, abi.XenverCommandLineSize)
	case abi.XenverBuildID:
		return errno(abi.ENODATA)
	}
	return errno(abi.ENOSYS)
}

// zeroed returns n zero bytes of the call's output buffer.
func (c *call) zeroed(n uint32) []byte {
	p := c.pageBuf[:n]
	clear(p)
	return p
}

// putOut copies p to ptr and returns the call's result.
func (c *call) putOut(ptr uint64, p []byte) int64 {
	if !c.copyOut(ptr, p) {
		return errno(abi.EFAULT)
	}
	return 0
}

// putText copies text, cut or padded to size bytes and NUL-terminated.
func (c *call) putText(ptr uint64, text string, size uint32) int64 {
	p := c.zeroed(size)
	putText(p, text)
	return c.putOut(ptr, p)
}

// putText writes text into zeroed p and leaves at least one NUL at its end.
func putText(p []byte, text string) {
	copy(p[:len(p)-1], text)
}
