// SPDX-License-Identifier: Apache-2.0

package vcpu

import (
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"xenvmm/vmm/kvm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeKVM is a vCPU whose guest is a queue of exits; with none queued the guest
// runs until it is kicked.
type fakeKVM struct {
	mu       sync.Mutex
	cond     sync.Cond
	imm      bool
	queue    []kvm.Exit
	inRun    bool
	mp       kvm.MPState
	regs     kvm.Regs
	sregs    kvm.Sregs
	events   kvm.VCPUEvents
	lapic    kvm.LAPICState
	lapicErr error
	exit     kvm.Exit
	runErr   error
	entries  int
	dirty    int
	closed   atomic.Int32
	entered  chan struct{} // gets a token at each entry that blocks
}

func newFakeKVM() *fakeKVM {
	f := &fakeKVM{entered: make(chan struct{}, 1024)}
	f.cond.L = &f.mu
	return f
}

func (f *fakeKVM) Run() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.entries++
	f.inRun = true
	defer func() { f.inRun = false }()
	if f.runErr != nil {
		return f.runErr
	}
	for first := true; ; first = false {
		if f.imm {
			return unix.EINTR
		}
		if len(f.queue) > 0 && f.mp == kvm.MPRunnable {
			f.exit, f.queue = f.queue[0], f.queue[1:]
			return nil
		}
		if first {
			f.entered <- struct{}{}
		}
		f.cond.Wait()
	}
}

func (f *fakeKVM) locked(g func()) { f.mu.Lock(); g(); f.cond.Broadcast(); f.mu.Unlock() }

func (f *fakeKVM) push(e ...kvm.Exit)             { f.locked(func() { f.queue = append(f.queue, e...) }) }
func (f *fakeKVM) SetImmediateExit(on bool)       { f.locked(func() { f.imm = on }) }
func (f *fakeKVM) Exit() *kvm.Exit                { return &f.exit }
func (f *fakeKVM) RunRegs() *kvm.Regs             { return &f.regs }
func (f *fakeKVM) RunSregs() *kvm.Sregs           { return &f.sregs }
func (f *fakeKVM) MarkRegsDirty()                 { f.dirty++ }
func (f *fakeKVM) Regs(r *kvm.Regs) error         { *r = f.regs; return nil }
func (f *fakeKVM) SetRegs(r *kvm.Regs) error      { f.regs = *r; return nil }
func (f *fakeKVM) Sregs(s *kvm.Sregs) error       { *s = f.sregs; return nil }
func (f *fakeKVM) SetSregs(s *kvm.Sregs) error    { f.sregs = *s; return nil }
func (f *fakeKVM) LAPIC(l *kvm.LAPICState) error  { *l = f.lapic; return f.lapicErr }
func (f *fakeKVM) SetMSRs([]kvm.MSREntry) error   { return nil }
func (f *fakeKVM) NMI() error                     { return nil }
func (f *fakeKVM) Close() error                   { f.closed.Add(1); return nil }
func (f *fakeKVM) Events(e *kvm.VCPUEvents) error { *e = f.events; return nil }
func (f *fakeKVM) SetEvents(e *kvm.VCPUEvents) error {
	f.events = *e
	return nil
}
func (f *fakeKVM) MPState() (s kvm.MPState, _ error) { f.locked(func() { s = f.mp }); return s, nil }
func (f *fakeKVM) SetMPState(s kvm.MPState) error    { f.locked(func() { f.mp = s }); return nil }

// fakeMachine records; action says what the next hypercall does.
type fakeMachine struct {
	action    Action
	calls     atomic.Int32
	resets    atomic.Int32
	waitsOver chan int
	ports     chan uint16
	mmio      chan uint64
	inCall    func(vcpu int)
	entering  func(*VCPU) error

	mu             sync.Mutex
	threads        map[int]int // by vCPU: the thread that Started was called on
	started, ended int
}

func newFakeMachine() *fakeMachine {
	return &fakeMachine{waitsOver: make(chan int, 64), ports: make(chan uint16, 64), mmio: make(chan uint64, 64), threads: map[int]int{}}
}

func (m *fakeMachine) Port(_ int, out bool, port uint16, size, count int, data []byte) {
	m.ports <- port
	if !out {
		for i := range data {
			data[i] = 0xff
		}
	}
}
func (m *fakeMachine) MMIO(_ int, _ bool, gpa uint64, _ []byte) { m.mmio <- gpa }
func (m *fakeMachine) HypercallPort() uint16                    { return 0xfa }
func (m *fakeMachine) Hypercall(vcpu int, r *kvm.Regs, _ *kvm.Sregs) Action {
	m.calls.Add(1)
	if m.inCall != nil {
		m.inCall(vcpu)
	}
	r.RAX = 0x1234
	return m.action
}
func (m *fakeMachine) WaitOver(vcpu int)                       { m.waitsOver <- vcpu }
func (m *fakeMachine) ReadMSR(_ int, i uint32) (uint64, bool)  { return 7, i == 0x40000000 }
func (m *fakeMachine) WriteMSR(_ int, i uint32, _ uint64) bool { return i == 0x40000000 }
func (m *fakeMachine) Exited(int)                              {}
func (m *fakeMachine) Reset(int)                               { m.resets.Add(1) }

func (m *fakeMachine) Started(vcpu int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.started++
	m.threads[vcpu] = unix.Gettid()
}

func (m *fakeMachine) Ended(vcpu int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.threads[vcpu] == unix.Gettid() {
		m.ended++
	}
}

func (m *fakeMachine) Entering(_ int, v *VCPU) error {
	if m.entering != nil {
		return m.entering(v)
	}
	return nil
}

func start(t *testing.T, n int, m *fakeMachine) (*Group, []*fakeKVM) {
	t.Helper()
	fakes := make([]*fakeKVM, n)
	kvms := make([]KVM, n)
	for i := range fakes {
		fakes[i] = newFakeKVM()
		kvms[i] = fakes[i]
	}
	g := NewGroup(kvms, m)
	g.Start()
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if m.started != n || m.ended != n {
			t.Errorf("%d of %d threads said that they start and %d, on the same thread, that they end", m.started, n, m.ended)
		}
		for i, f := range fakes {
			if n := f.closed.Load(); n != 1 {
				t.Errorf("vcpu %d closed %d times, want once", i, n)
			}
		}
	})
	return g, fakes
}

func ioOut(port uint16, size uint8, count uint32) kvm.Exit {
	return kvm.Exit{Reason: kvm.ExitIO, IO: kvm.IOExit{Out: true, Port: port, Size: size, Count: count, Data: make([]byte, int(size)*int(count))}}
}
