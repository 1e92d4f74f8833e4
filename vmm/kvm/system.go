// SPDX-License-Identifier: Apache-2.0

package kvm

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// apiVersion is the only KVM API version there has ever been since Linux 2.6.22.
const apiVersion = 12

// System is an open /dev/kvm.
type System struct {
	h      handle
	onLeak func(what string)
}

// Options change how a System is opened.
type Options struct {
	// OnLeak is told, some time after a garbage collection, the name of every
	// System, VM or VCPU that became unreachable without Close. It runs on a
	// runtime goroutine and must not block. nil switches the check off.
	OnLeak func(what string)
}

// Open opens the KVM device, normally "/dev/kvm". The error names the path and
// what to do about it.
func Open(path string) (*System, error) { return OpenWith(path, Options{}) }

// OpenWith is Open with options.
func OpenWith(path string, o Options) (*System, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w%s", path, err, openRemedy(err))
	}
	v, errno := ioctl(fd, reqGetAPIVersion, 0)
	if errno != 0 || v != apiVersion {
		_ = unix.Close(fd)
		if errno != 0 {
			return nil, fmt.Errorf("open %s: KVM_GET_API_VERSION: %w (is it the KVM device?)", path, errno)
		}
		return nil, fmt.Errorf("open %s: KVM API version %d, need %d (use a Linux kernel newer than 2.6.22)", path, v, apiVersion)
	}
	s := &System{onLeak: o.OnLeak}
	s.h.init(fd, path, o.OnLeak, func() error { return unix.Close(fd) })
	watch(s, &s.h)
	return s, nil
}

func openRemedy(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return " (load the module: modprobe kvm_intel or kvm_amd; in a VM, the outer hypervisor must allow nested virtualisation)"
	case errors.Is(err, fs.ErrPermission):
		return " (add the user to the group that owns the device, usually kvm)"
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return " (the module is not bound to it: check dmesg for kvm, and that virtualisation is on in the firmware)"
	}
	return ""
}

// Close closes the device. VMs made from it live on.
func (s *System) Close() error { return s.h.close() }

// CheckExtension is the value KVM reports for c; 0 means absent.
func (s *System) CheckExtension(c Cap) (int, error) {
	return s.h.call("KVM_CHECK_EXTENSION "+c.String(), reqCheckExtension, uintptr(c))
}

// VCPUMmapSize is the size in bytes of a vCPU's shared mapping: kvm_run and
// the pages behind it. It is at least the size of kvm_run.
func (s *System) VCPUMmapSize() (int, error) {
	n, err := s.h.call("KVM_GET_VCPU_MMAP_SIZE", reqGetVCPUMmapSize, 0)
	if err == nil && n < sizeRunPage {
		return 0, fmt.Errorf("%s: KVM_GET_VCPU_MMAP_SIZE: %d bytes, need %d (kernel without sync regs; use Linux 4.17 or later)", s.h.what, n, sizeRunPage)
	}
	return n, err
}

// CreateVM makes an empty VM.
func (s *System) CreateVM() (*VM, error) {
	size, err := s.VCPUMmapSize()
	if err != nil {
		return nil, err
	}
	fd, err := s.h.call("KVM_CREATE_VM", reqCreateVM, 0)
	if err != nil {
		return nil, err
	}
	// KVM makes its descriptors with O_CLOEXEC (anon_inode_getfd).
	v := &VM{onLeak: s.onLeak, mmapSize: size}
	v.h.init(fd, "vm", s.onLeak, func() error { return unix.Close(fd) })
	watch(v, &v.h)
	return v, nil
}

// SupportedCPUID lists the CPUID leaves that this host's KVM can show a guest.
func (s *System) SupportedCPUID() ([]CPUIDEntry, error) {
	// KVM answers E2BIG when the buffer is short; its own limit is 256 entries.
	for n := 128; n <= 1024; n *= 2 {
		b := newCPUIDBuffer(n)
		_, err := callBytes(&s.h, "KVM_GET_SUPPORTED_CPUID", reqGetSupportedID, b)
		if errors.Is(err, unix.E2BIG) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return decodeCPUID(b), nil
	}
	return nil, s.h.failed("KVM_GET_SUPPORTED_CPUID", unix.E2BIG)
}

// MSRIndexList lists the MSRs that GetMSRs can save on this host.
func (s *System) MSRIndexList() ([]uint32, error) {
	for n := 512; n <= 16384; n *= 2 {
		b := newMSRListBuffer(n)
		_, err := callBytes(&s.h, "KVM_GET_MSR_INDEX_LIST", reqGetMSRIndexList, b)
		if errors.Is(err, unix.E2BIG) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return decodeMSRList(b), nil
	}
	return nil, s.h.failed("KVM_GET_MSR_INDEX_LIST", unix.E2BIG)
}
