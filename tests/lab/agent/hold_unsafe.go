// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Requests of <linux/kvm.h>.
const (
	kvmCreateVM      = 0xae01
	kvmCreateVCPU    = 0xae41
	kvmCreateIRQChip = 0xae60
	kvmXenHVMConfig  = 0x4038ae7a
	// KVM_XEN_HVM_CONFIG_INTERCEPT_HCALL
	xenInterceptHypercalls = 1 << 1
)

// xenHVMConfig is struct kvm_xen_hvm_config.
type xenHVMConfig struct {
	flags, msr     uint32
	blob32, blob64 uint64
	size32, size64 uint8
	_              [30]byte
}

// holdKVM keeps machines open for as long as the host lives. The first VM of a
// kind and the last one patch the kernel's code (static branches), and an
// emulated CPU now and then executes the half-patched instruction: "Oops:
// int3". With one VM of each kind held, no test's VM is the first or the last.
func holdKVM() (release func(), err error) {
	var fds []int
	closeAll := func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}
	defer func() {
		if err != nil {
			closeAll()
		}
	}()
	open := func(what string, call func() (int, error)) (int, error) {
		fd, err := retry(call)
		if err != nil {
			return -1, fmt.Errorf("/dev/kvm: %s: %w", what, err)
		}
		unix.CloseOnExec(fd)
		fds = append(fds, fd)
		return fd, nil
	}
	kvm, err := open("open", func() (int, error) { return unix.Open("/dev/kvm", unix.O_RDWR|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, err
	}
	for _, inKernelAPIC := range []bool{false, true} {
		vm, err := open("create VM", func() (int, error) { return unix.IoctlRetInt(kvm, kvmCreateVM) })
		if err != nil {
			return nil, err
		}
		if inKernelAPIC {
			if _, err := retry(func() (int, error) { return unix.IoctlRetInt(vm, kvmCreateIRQChip) }); err != nil {
				return nil, fmt.Errorf("/dev/kvm: create interrupt controllers: %w", err)
			}
		} else {
			c := &xenHVMConfig{flags: xenInterceptHypercalls, msr: 0x40000000}
			// Kernels without KVM_CAP_XEN_HVM refuse and have no such branch.
			_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(vm), kvmXenHVMConfig, uintptr(unsafe.Pointer(c)))
			runtime.KeepAlive(c)
		}
		if _, err := open("create vCPU", func() (int, error) { return unix.IoctlRetInt(vm, kvmCreateVCPU) }); err != nil {
			return nil, err
		}
	}
	return closeAll, nil
}

// retry repeats a call that a signal interrupts: creating a VM registers an
// MMU notifier, which gives up while a signal is pending, and the Go runtime
// sends itself signals all the time.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}
