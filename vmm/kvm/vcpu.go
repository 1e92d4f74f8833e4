// SPDX-License-Identifier: Apache-2.0

package kvm

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// VCPU is one virtual processor and its shared kvm_run page. See the package
// comment for which thread may call what.
type VCPU struct {
	h     handle
	id    int
	page  []byte
	exit  Exit
	clock clockMSRs // of Clock
}

// CreateVCPU makes the vCPU with the given id (its initial APIC id).
func (v *VM) CreateVCPU(id int) (*VCPU, error) {
	fd, err := v.h.call("KVM_CREATE_VCPU", reqCreateVCPU, uintptr(id))
	if err != nil {
		return nil, fmt.Errorf("vcpu %d: %w", id, err)
	}
	page, err := unix.Mmap(fd, 0, v.mmapSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("vcpu %d: map %d bytes of kvm_run: %w", id, v.mmapSize, err)
	}
	c := &VCPU{id: id, page: page}
	c.h.init(fd, fmt.Sprintf("vcpu %d", id), v.onLeak, func() error {
		return errors.Join(unix.Munmap(page), unix.Close(fd))
	})
	watch(c, &c.h)
	return c, nil
}

// ID is the number given to CreateVCPU.
func (c *VCPU) ID() int { return c.id }

// Close unmaps kvm_run and closes the descriptor, at once or when a Run in
// progress returns. Views from Exit and RunRegs die with it, so call it on the
// vCPU's thread or after that thread is done with them.
func (c *VCPU) Close() error { return c.h.close() }

// Run enters the guest once (KVM_RUN) on the calling OS thread. nil means that
// Exit describes why it came back. unix.EINTR means a signal or
// SetImmediateExit ended it: look at requests and, if there are none, run
// again. unix.EAGAIN means the vCPU was waiting for INIT or SIPI and something
// happened; run again. Anything else is fatal for the VM. It never loops by
// itself and does not allocate.
//
// It goes through unix.Syscall, which tells the scheduler that the thread is in
// a system call. Bypassing that (RawSyscall) would make every stop-the-world
// wait for the guest to exit.
func (c *VCPU) Run() error {
	if !c.h.acquire() {
		return ErrClosed
	}
	_, errno := ioctl(c.h.fd, reqRun, 0)
	c.h.release()
	switch errno {
	case 0:
		return nil
	case unix.EINTR:
		return unix.EINTR
	case unix.EAGAIN:
		return unix.EAGAIN
	}
	return c.h.failed("KVM_RUN", errno)
}

// Exit decodes the kvm_run page. The result is reused by the next call.
func (c *VCPU) Exit() *Exit {
	decode(c.page, &c.exit)
	return &c.exit
}

// SetImmediateExit makes the next or a starting Run return unix.EINTR at once.
// It may be called from any thread, also after Close. To kick a vCPU that may
// be inside the guest, set it and then send its thread a signal; the vCPU's
// thread clears it after Run came back.
func (c *VCPU) SetImmediateExit(on bool) {
	if !c.h.acquire() {
		return
	}
	setControl(c.page, immediateExitBit, on)
	c.h.release()
}

// RequestInterruptWindow makes Run return with ExitIRQWindowOpen once the guest
// can take an external interrupt. Only for the vCPU's own thread.
func (c *VCPU) RequestInterruptWindow(on bool) { setControl(c.page, requestWindowBit, on) }

// SetCR8 sets the TPR that KVM takes over at the next Run when the local APIC
// is not in the kernel.
func (c *VCPU) SetCR8(tpr uint64) { le.PutUint64(c.page[offCR8:], tpr) }
