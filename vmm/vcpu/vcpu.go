// SPDX-License-Identifier: Apache-2.0

package vcpu

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"xenvmm/vmm/kvm"
)

// KVM is what this package and Group.Do's callers need of a *kvm.VCPU.
type KVM interface {
	Run() error
	Exit() *kvm.Exit
	SetImmediateExit(on bool)
	RunRegs() *kvm.Regs
	RunSregs() *kvm.Sregs
	MarkRegsDirty()
	Regs(*kvm.Regs) error
	SetRegs(*kvm.Regs) error
	Sregs(*kvm.Sregs) error
	SetSregs(*kvm.Sregs) error
	MPState() (kvm.MPState, error)
	SetMPState(kvm.MPState) error
	Events(*kvm.VCPUEvents) error
	SetEvents(*kvm.VCPUEvents) error
	LAPIC(*kvm.LAPICState) error
	SetMSRs([]kvm.MSREntry) error
	NMI() error
	Close() error
}

// Machine is what the exits of a vCPU need. Every method is called on the
// vCPU's thread; several vCPUs call at once.
type Machine interface {
	// Port serves count accesses of size bytes at one port: data holds size*count
	// bytes, which are read if out and filled in if not.
	Port(vcpu int, out bool, port uint16, size, count int, data []byte)
	// MMIO serves one access of len(data) bytes, 1 to 8, to a gpa without memory.
	MMIO(vcpu int, write bool, gpa uint64, data []byte)
	// HypercallPort is the port whose 32-bit OUT is a Xen hypercall.
	HypercallPort() uint16
	// Hypercall serves the call described by the registers and changes them.
	Hypercall(vcpu int, r *kvm.Regs, s *kvm.Sregs) Action
	// WaitOver is called once after a Wait action when the vCPU goes on.
	WaitOver(vcpu int)
	// ReadMSR and WriteMSR serve MSRs that KVM left to user space; false makes
	// the instruction raise #GP.
	ReadMSR(vcpu int, index uint32) (uint64, bool)
	WriteMSR(vcpu int, index uint32, value uint64) bool
	// Started is the first call and Ended the last one. The thread is the vCPU's
	// alone and ends with it.
	Started(vcpu int)
	Ended(vcpu int)
	// Reset is called when an INIT may have reset a vCPU that had not run.
	Reset(vcpu int)
	// Entering is called before every entry to the guest, Exited after every exit.
	Entering(vcpu int, v *VCPU) error
	Exited(vcpu int)
}

// Action is how a vCPU goes on after a hypercall.
type Action uint8

// Actions.
const (
	Resume Action = iota // enter the guest again
	Yield                // give the host CPU to others first
	Wait                 // wait for an interrupt or Group.Wake, as HLT does
	Park                 // go offline until INIT/SIPI or until set runnable from outside
)

// VCPU is one virtual CPU and the state of its thread.
type VCPU struct {
	group   *Group
	id      int
	kvm     KVM
	machine Machine

	tid    atomic.Int32
	inside atomic.Bool   // in KVM_RUN, or about to be: see Group.Pause
	trips  atomic.Uint64 // odd from before Machine.Entering until outside again: see Group.Evict
	// mayWait is set from the start of a hypercall that may wait until the wait
	// is over; woken tells that Wake was called since.
	mayWait, woken atomic.Bool

	waiting bool // after a Wait action; only v's thread
	exits   tally

	posted chan struct{} // a wake-up for a thread that waits in Do
	hasOps atomic.Bool
	mu     sync.Mutex // guards ops
	ops    []*operation
}

func newVCPU(g *Group, id int, k KVM, m Machine) *VCPU {
	return &VCPU{group: g, id: id, kvm: k, machine: m, posted: make(chan struct{}, 1)}
}

// Kick makes the vCPU leave the guest. It never blocks.
func (v *VCPU) Kick() {
	v.kvm.SetImmediateExit(true)
	if v.inside.Load() {
		// A thread that has left in the meantime, or ended, is no error.
		_ = unix.Tgkill(os.Getpid(), int(v.tid.Load()), unix.SIGURG)
	}
}

func (v *VCPU) wakeUp() {
	if !v.woken.Swap(true) && v.mayWait.Load() {
		v.Kick()
	}
}

// thread is the vCPU's thread from start to end.
func (v *VCPU) thread() {
	// Never unlocked: the thread ends with the goroutine.
	runtime.LockOSThread()
	v.tid.Store(int32(unix.Gettid()))
	defer v.tid.Store(0)
	v.machine.Started(v.id)
	defer v.machine.Ended(v.id)
	for {
		select {
		case <-v.group.done:
			return
		default:
		}
		if s := v.step(); s != nil {
			s.VCPU = v.id
			if s.RIP == 0 {
				s.RIP = v.kvm.RunRegs().RIP
			}
			v.group.Stop(*s)
			return
		}
	}
}

// step serves requests, enters the guest once and serves the exit.
func (v *VCPU) step() *Stop {
	v.runPosted()
	if v.waiting && v.woken.Load() {
		if err := v.endWait(); err != nil {
			return hostError(err)
		}
	}
	v.trips.Store(v.trips.Load() + 1)
	if err := v.machine.Entering(v.id, v); err != nil {
		v.outside()
		v.group.gate.exited()
		return hostError(err)
	}
	v.inside.Store(true)
	if v.group.gate.closed.Load() != 0 {
		v.outside()
		v.group.gate.exited()
		v.group.gate.park(v.hasWork)
		return nil
	}
	err := v.kvm.Run()
	v.outside()
	v.kvm.SetImmediateExit(false)
	v.group.gate.exited()
	v.machine.Exited(v.id)
	switch err {
	case nil:
		return v.exit()
	case unix.EAGAIN: // a vCPU that waited for INIT has had one
		v.machine.Reset(v.id)
		return nil
	case unix.EINTR:
		return nil
	}
	return hostError(err)
}

// hasWork tells a parked vCPU that it should look around.
func (v *VCPU) hasWork() bool {
	if v.hasOps.Load() {
		return true
	}
	select {
	case <-v.group.done:
		return true
	default:
		return false
	}
}

func hostError(err error) *Stop {
	return &Stop{Reason: StopHost, Detail: err.Error(), Err: err}
}
