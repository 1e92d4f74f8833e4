// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"xenvmm/vmm"
	"xenvmm/vmm/kvm"
)

// A peerRig is a virtual machine of one vCPU to which both deliver: the gpc of
// this program and that of the kernel, at the same shared_info and vcpu_info, by
// the same vector.
type peerRig struct {
	sys *kvm.System
	vm  *kvm.VM
	cpu *kvm.VCPU

	ram    []byte // slot 0
	events []byte // slot 1: shared_info and vcpu_info
	file   int    // behind events

	stop    atomic.Bool
	tid     atomic.Int32
	ended   chan struct{} // closed when the vCPU's thread ends; nil before it begins
	failure error         // why it ended; read after ended
}

// Slots of the rig; the last is not there most of the time.
const (
	peerSlotRAM = iota
	peerSlotEvents
	peerSlotScratch
)

const peerRemedy = "run it on a host kernel with CONFIG_KVM_XEN=y, or in the lab: `vmm lab exec --host debian-6.12 -- vmm bench peer`"

// openPeerRig makes the machine, with the guest waiting for upcalls. The error is
// a *vmm.HostError if the host cannot.
func openPeerRig(device string) (r *peerRig, err error) {
	r = &peerRig{file: -1}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
			r = nil
		}
	}()
	if r.sys, err = kvm.Open(device); err != nil {
		return r, &vmm.HostError{What: "a usable " + device, Remedy: peerRemedy, Err: err}
	}
	const want = kvm.XenInterceptHcall | kvm.XenSharedInfo | kvm.XenEvtchn2Level | kvm.XenEvtchnSend
	if n, err := r.sys.CheckExtension(kvm.CapXenHVM); err != nil || kvm.XenFlags(n)&want != want {
		return r, &vmm.HostError{What: fmt.Sprintf("KVM_CAP_XEN_HVM with event channels (it has %#x, wanted is %#x)", n, uint32(want)), Remedy: peerRemedy, Err: err}
	}
	if r.vm, err = r.sys.CreateVM(); err != nil {
		return r, err
	}
	if err = r.memory(); err != nil {
		return r, err
	}
	for _, step := range []func() error{
		func() error { return r.vm.SetTSSAddr(0xfffbd000) },
		r.vm.CreateIRQChip,
		func() error {
			return r.vm.XenHVMConfig(kvm.XenHVMConfig{Flags: kvm.XenInterceptHcall, MSR: 0x40000000})
		},
		func() (err error) { r.cpu, err = r.vm.CreateVCPU(0); return },
		r.cpuid,
		func() error { return peerBoot(r.cpu, r.ram) },
		func() error { return r.vm.XenSetLongMode(true) },
		func() error { return r.cpu.XenSetVCPUUpcallVector(peerVector) },
		func() error { return r.cpu.XenSetVCPUInfo(peerInfo) },
	} {
		if err = step(); err != nil {
			return r, err
		}
	}
	r.run()
	return r, nil
}

func (r *peerRig) memory() (err error) {
	const prot = unix.PROT_READ | unix.PROT_WRITE
	if r.ram, err = unix.Mmap(-1, 0, peerRAM, prot, unix.MAP_SHARED|unix.MAP_ANONYMOUS); err != nil {
		return fmt.Errorf("map guest memory: %w", err)
	}
	if r.file, err = unix.MemfdCreate("event-pages", unix.MFD_CLOEXEC); err != nil {
		return fmt.Errorf("memfd_create: %w", err)
	}
	if err = unix.Ftruncate(r.file, peerPages*pageSize); err != nil {
		return fmt.Errorf("size a memfd: %w", err)
	}
	if r.events, err = unix.Mmap(r.file, 0, peerPages*pageSize, prot, unix.MAP_SHARED); err != nil {
		return fmt.Errorf("map event pages: %w", err)
	}
	return errors.Join(
		r.vm.SetUserMemoryRegion(peerSlotRAM, 0, 0, peerRAM, addressOf(r.ram)),
		r.vm.SetUserMemoryRegion(peerSlotEvents, 0, peerShared, peerPages*pageSize, addressOf(r.events)),
	)
}

func (r *peerRig) cpuid() error {
	ids, err := r.sys.SupportedCPUID()
	if err != nil {
		return err
	}
	return r.cpu.SetCPUID(ids)
}

// Resolve implements gpc.Resolver.
func (r *peerRig) Resolve(gpa, n uint64) (uintptr, error) {
	if off := gpa - peerShared; off < peerPages*pageSize && n <= peerPages*pageSize-off {
		return addressOf(r.events) + uintptr(off), nil
	}
	return 0, fmt.Errorf("bench: %d bytes at %#x are no page of events", n, gpa)
}

// MarkDirty implements gpc.Resolver.
func (r *peerRig) MarkDirty(uint64, uint64) {}

// remap gives shared_info's frame a new mapping on the host.
func (r *peerRig) remap() error { return mapAgain(r.events, r.file, pageSize) }

// Where an unrelated memory slot comes and goes.
const (
	peerScratch     = 256 << 20
	peerScratchSize = peerRAM
)

// slot adds a memory slot that nobody uses, and deletes it.
func (r *peerRig) slot() error {
	return errors.Join(
		r.vm.SetUserMemoryRegion(peerSlotScratch, 0, peerScratch, peerScratchSize, addressOf(r.ram)),
		r.vm.SetUserMemoryRegion(peerSlotScratch, 0, peerScratch, 0, 0),
	)
}

// run starts the vCPU on a thread of its own.
func (r *peerRig) run() {
	r.ended = make(chan struct{})
	go func() {
		runtime.LockOSThread() // it ends with the goroutine
		defer close(r.ended)
		r.tid.Store(int32(unix.Gettid()))
		for !r.stop.Load() {
			if err := r.cpu.Run(); err == nil {
				e := r.cpu.Exit()
				r.failure = fmt.Errorf("bench: the guest left by %s at RIP %#x", e.Reason, r.rip())
				return
			} else if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
				r.failure = err
				return
			}
		}
	}()
}

func (r *peerRig) rip() uint64 {
	var regs kvm.Regs
	_ = r.cpu.Regs(&regs) // 0 if it cannot be read
	return regs.RIP
}

// alive is why the vCPU does not run any more, nil if it does.
func (r *peerRig) alive() error {
	select {
	case <-r.ended:
		return r.failure
	default:
		return nil
	}
}

func (r *peerRig) close() error {
	var errs []error
	if r.ended != nil {
		r.stop.Store(true)
		for {
			r.cpu.SetImmediateExit(true)
			_ = unix.Tgkill(os.Getpid(), int(r.tid.Load()), unix.SIGURG) // it may have ended
			select {
			case <-r.ended:
			case <-time.After(time.Millisecond):
				continue
			}
			break
		}
	}
	for _, c := range []struct {
		there bool
		close func() error
	}{
		{r.cpu != nil, func() error { return r.cpu.Close() }},
		{r.vm != nil, func() error { return r.vm.Close() }},
		{r.sys != nil, func() error { return r.sys.Close() }},
		{r.events != nil, func() error { return unix.Munmap(r.events) }},
		{r.file >= 0, func() error { return unix.Close(r.file) }},
		{r.ram != nil, func() error { return unix.Munmap(r.ram) }},
	} {
		if c.there {
			errs = append(errs, c.close())
		}
	}
	return errors.Join(errs...)
}
