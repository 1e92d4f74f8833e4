// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Requests and layouts of <linux/kvm.h>.
const (
	createVM            = 0xae01
	getVCPUMmapSize     = 0xae04
	createVCPU          = 0xae41
	setUserMemoryRegion = 0x4020ae46
	run                 = 0xae80
	getSregs            = 0x8138ae83
	setSregs            = 0x4138ae84
	setRegs             = 0x4090ae82
	exitIO              = 2
)

type region struct {
	slot, flags     uint32
	gpa, size, addr uint64
}

func ioctl(fd int, req uintptr, p unsafe.Pointer) error {
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), req, uintptr(p)); e != 0 {
		return fmt.Errorf("request %#x: %w", req, e)
	}
	return nil
}

// runGuest runs three bytes of real-mode code: OUT to port 0x10.
func runGuest() error {
	kvm, err := unix.Open("/dev/kvm", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/dev/kvm: %w", err)
	}
	vm, err := unix.IoctlRetInt(kvm, createVM)
	for err == unix.EINTR { // one of the Go runtime's signals
		vm, err = unix.IoctlRetInt(kvm, createVM)
	}
	if err != nil {
		return fmt.Errorf("create VM: %w", err)
	}
	mem, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	copy(mem, []byte{0xb0, 0x42, 0xe6, 0x10, 0xf4}) // mov $0x42,%al; out %al,$0x10; hlt
	r := &region{gpa: 0x1000, size: 4096, addr: uint64(uintptr(unsafe.Pointer(&mem[0])))}
	if err := ioctl(vm, setUserMemoryRegion, unsafe.Pointer(r)); err != nil {
		return err
	}
	cpu, err := unix.IoctlRetInt(vm, createVCPU)
	if err != nil {
		return fmt.Errorf("create vCPU: %w", err)
	}
	size, err := unix.IoctlRetInt(kvm, getVCPUMmapSize)
	if err != nil {
		return err
	}
	state, err := unix.Mmap(cpu, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	sregs := new([312]byte)
	if err := ioctl(cpu, getSregs, unsafe.Pointer(sregs)); err != nil {
		return err
	}
	clear(sregs[:8])    // CS.base
	clear(sregs[12:14]) // CS.selector
	if err := ioctl(cpu, setSregs, unsafe.Pointer(sregs)); err != nil {
		return err
	}
	regs := new([18]uint64)
	regs[16], regs[17] = 0x1000, 2 // RIP, RFLAGS
	if err := ioctl(cpu, setRegs, unsafe.Pointer(regs)); err != nil {
		return err
	}
	runtime.KeepAlive(r)
	for {
		if err := ioctl(cpu, run, nil); !errors.Is(err, unix.EINTR) {
			if err != nil {
				return err
			}
			break
		}
	}
	reason := *(*uint32)(unsafe.Pointer(&state[8]))
	port := *(*uint16)(unsafe.Pointer(&state[34]))
	data := state[*(*uint64)(unsafe.Pointer(&state[40]))]
	if reason != exitIO || port != 0x10 || data != 0x42 {
		return fmt.Errorf("exit %d, port %#x, data %#x", reason, port, data)
	}
	fmt.Println("the guest ran")
	return nil
}
