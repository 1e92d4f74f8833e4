// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kvmGetSupportedCPUID is KVM_GET_SUPPORTED_CPUID of <linux/kvm.h>.
const kvmGetSupportedCPUID = 0xc008ae05

// cpuidEntry is struct kvm_cpuid_entry2.
type cpuidEntry struct {
	function, index, flags uint32
	eax, ebx, ecx, edx     uint32
	_                      [3]uint32
}

// supportedCPUID is struct kvm_cpuid2 with room for more than any kernel has.
type supportedCPUID struct {
	n, _    uint32
	entries [256]cpuidEntry
}

// nestedKVM asks /dev/kvm which virtualisation it offers to guests, and
// returns the module that uses it.
func nestedKVM() (string, error) {
	fd, err := unix.Open("/dev/kvm", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("/dev/kvm: %w", err)
	}
	defer unix.Close(fd)
	c := &supportedCPUID{n: uint32(len(supportedCPUID{}.entries))}
	if _, _, no := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), kvmGetSupportedCPUID, uintptr(unsafe.Pointer(c))); no != 0 {
		return "", fmt.Errorf("/dev/kvm: supported features: %w", no)
	}
	if int(c.n) > len(c.entries) {
		return "", errors.New("/dev/kvm: supported features: more than there was room for")
	}
	return nestedModule(c.entries[:c.n])
}
