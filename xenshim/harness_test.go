// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"bytes"
	"encoding/binary"
	"sync"
	"testing"

	"xenvmm/xenshim/abi"
)

// fakePlatform records what the domain asks of the machine.
type fakePlatform struct {
	mu        sync.Mutex
	now       uint64
	upcalls   [64]int
	woken     [64]int
	vectors   [64]uint8
	callback  Callback
	callbacks int
	systime   [64]uint64 // gpa, 0 off
	timer     [64]uint64
	up        [64]bool
	inited    [64]*VCPUContext
	nmis      int
	shutdowns []uint32
	wallSec   uint64
}

func (p *fakePlatform) locked(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}
func (p *fakePlatform) Upcall(v int)     { p.mu.Lock(); p.upcalls[v]++; p.mu.Unlock() }
func (p *fakePlatform) WakePoller(v int) { p.mu.Lock(); p.woken[v]++; p.mu.Unlock() }
func (p *fakePlatform) SetUpcallVector(v int, vec uint8) {
	p.locked(func() { p.vectors[v] = vec })
}

func (p *fakePlatform) SetCallback(cb Callback) {
	p.locked(func() { p.callback = cb; p.callbacks++ })
}

func (p *fakePlatform) SetSystemTime(v int, gpa uint64, enable bool) error {
	p.locked(func() {
		p.systime[v] = 0
		if enable {
			p.systime[v] = gpa
		}
	})
	return nil
}
func (p *fakePlatform) GuestTime(int) uint64 { p.mu.Lock(); defer p.mu.Unlock(); return p.now }
func (p *fakePlatform) WallClock() (uint64, uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wallSec, 77
}
func (p *fakePlatform) TSCKHz() uint32            { return 2_500_000 }
func (p *fakePlatform) ArmTimer(v int, dl uint64) { p.mu.Lock(); p.timer[v] = dl; p.mu.Unlock() }
func (p *fakePlatform) DisarmTimer(v int)         { p.mu.Lock(); p.timer[v] = 0; p.mu.Unlock() }
func (p *fakePlatform) SendNMI(v int) abi.Errno   { p.locked(func() { p.nmis++ }); return abi.OK }
func (p *fakePlatform) Shutdown(reason uint32) {
	p.locked(func() {
		if len(p.shutdowns) < 1000 {
			p.shutdowns = append(p.shutdowns, reason)
		}
	})
}

func (p *fakePlatform) VCPUInitialise(v int, c *VCPUContext) abi.Errno {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inited[v] != nil {
		return abi.EEXIST
	}
	p.inited[v] = c
	return abi.OK
}

func (p *fakePlatform) VCPUUp(v int) abi.Errno {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inited[v] == nil {
		return abi.EINVAL
	}
	p.up[v] = true
	return abi.OK
}

func (p *fakePlatform) VCPUDown(v int) abi.Errno { p.locked(func() { p.up[v] = false }); return abi.OK }
func (p *fakePlatform) VCPUIsUp(v int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.up[v]
}

// Guest physical layout of the test machine.
const (
	ramSize   = 16 << 20
	argAt     = 0x10_0000 // argument structures
	bufAt     = 0x20_0000 // buffers they point to
	sharedGFN = 0x300
	tables    = 0xf0_0000 // 64-bit page tables: identity below 4 GiB, supervisor
	unmapped  = 0x5000_0000
)

// machine is a domain on fake hardware with the state of its vCPU 0.
type machine struct {
	t       testing.TB
	mem     *fakeMemory
	plat    *fakePlatform
	d       *Domain
	v       *VCPU
	s       CPUState
	width   abi.Width
	out     Outcome
	console *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b.Len() > 1<<20 {
		l.b.Reset()
	}
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

func newMachine(t testing.TB, w abi.Width, edit ...func(*Config)) *machine {
	m := &machine{t: t, mem: newFakeMemory(t, ramSize), plat: &fakePlatform{now: 1_000_000, wallSec: 0x1_2345_6789}, width: w}
	m.plat.up[0], m.plat.inited[0] = true, &VCPUContext{}
	m.console = &lockedBuffer{}
	cfg := Config{
		VCPUs: 4, Memory: m.mem, Pages: fakeAllocator{t, m.mem}, RAM: []Range{{0, ramSize}},
		Caches: m.mem.set, Platform: m.plat, Name: "test", DomID: 7, ConsoleIO: m.console,
		UUID:        [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
		CommandLine: "loglvl=all", MemoryMap: []MemoryMapEntry{{0, 0xa0000, 1}, {0x100000, ramSize - 0x100000, 1}, {0xfeff8000, 0x4000, 2}},
	}
	for _, e := range edit {
		e(&cfg)
	}
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	m.d, m.v = d, d.VCPU(0)
	m.setWidth(w)
	return m
}

// setWidth puts vCPU 0 into 64-bit mode with identity paging, or 32-bit
// protected mode without paging.
func (m *machine) setWidth(w abi.Width) {
	m.width = w
	if w == abi.Width32 {
		m.s = CPUState{CR0: cr0PE}
		return
	}
	m.s = CPUState{
		CR0: cr0PE | cr0PG | cr0WP, CR3: tables, CR4: cr4PAE,
		EFER: eferLME | eferLMA | eferNXE, CSLong: true,
	}
	m.w64(tables, tables+0x1000|ptePresent|pteWrite)
	for i := range uint64(4) {
		m.w64(tables+0x1000+8*i, i<<30|ptePresent|pteWrite|ptePS)
	}
}

func (m *machine) w64(gpa, v uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	m.write(gpa, b[:])
}

func (m *machine) write(gpa uint64, p []byte) {
	m.t.Helper()
	if err := m.mem.WriteAt(p, gpa); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) read(gpa uint64, n int) []byte {
	m.t.Helper()
	p := make([]byte, n)
	if err := m.mem.ReadAt(p, gpa); err != nil {
		m.t.Fatal(err)
	}
	return p
}

func (m *machine) r32(gpa uint64) uint32 { return binary.LittleEndian.Uint32(m.read(gpa, 4)) }
func (m *machine) r64(gpa uint64) uint64 { return binary.LittleEndian.Uint64(m.read(gpa, 8)) }

// call issues a hypercall on vCPU 0 in the machine's mode and returns its
// result, sign-extended.
func (m *machine) call(nr uint64, a ...uint64) int64 { return m.callOn(m.v, nr, a...) }

func (m *machine) callOn(v *VCPU, nr uint64, a ...uint64) int64 {
	m.t.Helper()
	var x [6]uint64
	copy(x[:], a)
	r := Registers{RAX: nr}
	if m.width == abi.Width64 {
		r.RDI, r.RSI, r.RDX, r.R10, r.R8, r.R9 = x[0], x[1], x[2], x[3], x[4], x[5]
	} else {
		r.RBX, r.RCX, r.RDX, r.RSI, r.RDI, r.RBP = x[0], x[1], x[2], x[3], x[4], x[5]
	}
	m.out = v.Hypercall(&r, &m.s)
	if m.width == abi.Width32 {
		if r.RAX>>32 != 0 {
			m.t.Errorf("hypercall %d: upper half of a 32-bit result is %#x", nr, r.RAX)
		}
		return int64(int32(r.RAX))
	}
	return int64(r.RAX)
}

// field is one member of an argument structure.
type field struct {
	off, size uint32
	v         uint64
}

func f16(off uint32, v uint64) field { return field{off, 2, v} }
func f32(off uint32, v uint64) field { return field{off, 4, v} }
func f64(off uint32, v uint64) field { return field{off, 8, v} }

// fw is a guest word.
func (m *machine) fw(off uint32, v uint64) field { return field{off, uint32(m.width), v} }

// arg writes an argument structure at argAt and returns its address.
func (m *machine) arg(fields ...field) uint64 { return m.argAt(argAt, fields...) }

func (m *machine) argAt(at uint64, fields ...field) uint64 {
	var b [128]byte
	for _, f := range fields {
		var v [8]byte
		binary.LittleEndian.PutUint64(v[:], f.v)
		copy(b[f.off:], v[:f.size])
	}
	m.write(at, b[:])
	return at
}

// words writes an array of guest words at bufAt+off.
func (m *machine) words(off uint64, vs ...uint64) uint64 {
	for i, v := range vs {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], v)
		m.write(bufAt+off+uint64(i)*uint64(m.width), b[:m.width])
	}
	return bufAt + off
}

func (m *machine) want(what string, got int64, want abi.Errno) {
	m.t.Helper()
	if got != errno(want) {
		m.t.Errorf("%s: result %d, want %d (-%s)", what, got, errno(want), want)
	}
}

func (m *machine) wantN(what string, got, want int64) {
	m.t.Helper()
	if got != want {
		m.t.Errorf("%s: got %d (%#x), want %d (%#x)", what, got, got, want, want)
	}
}

// eachWidth runs a test for 64-bit and 32-bit callers.
func eachWidth(t *testing.T, f func(t *testing.T, m *machine)) {
	for _, w := range []abi.Width{abi.Width64, abi.Width32} {
		t.Run(map[abi.Width]string{abi.Width64: "64bit", abi.Width32: "32bit"}[w], func(t *testing.T) {
			f(t, newMachine(t, w))
		})
	}
}

// mapShared maps shared_info at gfn.
func (m *machine) mapShared(gfn uint64) {
	m.t.Helper()
	m.want("map shared_info", m.addToPhysmap(abi.DomIDSelf, abi.XenmapspaceSharedInfo, 0, gfn), abi.OK)
}

func (m *machine) addToPhysmap(dom abi.DomID, space, idx, gfn uint64) int64 {
	l := abi.AddToPhysmapLayout(m.width)
	return m.call(abi.HypercallMemoryOp, abi.XenmemAddToPhysmap, m.arg(
		f16(l.DomID, uint64(dom)), f32(l.Space, space), m.fw(l.Idx, idx), m.fw(l.GPFN, gfn)))
}
