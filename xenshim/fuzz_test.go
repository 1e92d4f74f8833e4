// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"xenvmm/xenshim/abi"
)

// offeredCalls are the numbers with a handler, and their commands.
var offeredCalls = []struct{ nr, cmds uint64 }{
	{abi.HypercallMemoryOp, 30}, {abi.HypercallMulticall, 8}, {abi.HypercallSetTimerOp, 1},
	{abi.HypercallXenVersion, 12}, {abi.HypercallConsoleIO, 3}, {abi.HypercallGrantTableOp, 14},
	{abi.HypercallVMAssist, 3}, {abi.HypercallVCPUOp, 17}, {abi.HypercallSchedOp, 9},
	{abi.HypercallEventChannelOp, 15}, {abi.HypercallPhysdevOp, 30}, {abi.HypercallHVMOp, 25},
}

// source makes numbers that are often near a limit.
type source struct{ *rand.Rand }

func (s source) number() uint64 {
	switch s.IntN(8) {
	case 0:
		return s.Uint64()
	case 1:
		return ^uint64(0) - s.Uint64N(64)
	case 2:
		return 1<<s.UintN(64) - s.Uint64N(3)
	case 3:
		return s.Uint64N(1 << 32)
	case 4:
		return s.Uint64N(ramSize>>pageShift + 8)
	default:
		return s.Uint64N(16)
	}
}

// pointer is an address that mostly works: page ends are likely.
func (s source) pointer() uint64 {
	switch s.IntN(10) {
	case 0:
		return s.number()
	case 1:
		return ramSize - s.Uint64N(80)
	case 2:
		return bufAt + 4096 - s.Uint64N(64)
	default:
		return bufAt + s.Uint64N(1<<16)&^7
	}
}

// scramble fills the memory that pointers lead to with numbers and pointers.
func (m *machine) scramble(s source) {
	at := bufAt + s.Uint64N(1<<16)&^7
	m.mem.mu.Lock()
	defer m.mem.mu.Unlock()
	for i := range uint64(16) {
		v := s.number()
		switch s.IntN(4) {
		case 0:
			v = s.pointer()
		case 1:
			v = v<<32 | s.number()&0xffff_ffff
		case 2:
			v = v&0xffff_0000 | uint64(abi.DomIDSelf) | s.Uint64N(8)<<32
		}
		binary.LittleEndian.PutUint64(m.mem.ram[at+8*i:], v)
	}
}

// randomState puts the vCPU into one of its modes, or a mode that makes no
// sense.
func (m *machine) randomState(s source) {
	switch s.IntN(8) {
	case 0:
		m.setWidth(abi.Width32)
	case 1:
		m.s = CPUState{CR0: cr0PE | cr0PG, CR3: bufAt, CR4: s.Uint64(), CPL: 0} // tables of noise
	case 2:
		m.s = CPUState{CR0: s.Uint64(), CR3: s.Uint64(), CR4: s.Uint64(), EFER: s.Uint64(), RFLAGS: s.Uint64(), CSLong: s.IntN(2) == 0, CPL: uint8(s.IntN(4))}
	default:
		m.setWidth(abi.Width64)
	}
}

// sensible writes an argument for a command that gets past the first checks,
// and returns its address; ok is false for commands where noise does.
func (m *machine) sensible(s source, nr, cmd uint64) (ptr uint64, ok bool) {
	self := []uint64{uint64(abi.DomIDSelf), 7}[s.IntN(2)]
	ram := func() uint64 { return 0x400 + s.Uint64N(0x80) }
	switch {
	case nr == abi.HypercallMemoryOp && (cmd == abi.XenmemDecreaseReservation || cmd == abi.XenmemPopulatePhysmap):
		l := abi.MemoryReservationLayout(m.width)
		list := m.words(0x8_0000, ram(), ram(), ram(), s.number())
		return m.arg(m.fw(l.ExtentStart, list), m.fw(l.NrExtents, s.Uint64N(5)), f32(l.ExtentOrder, s.Uint64N(4)), f16(l.DomID, self)), true
	case nr == abi.HypercallMemoryOp && cmd == abi.XenmemAddToPhysmap:
		l := abi.AddToPhysmapLayout(m.width)
		return m.arg(f16(l.DomID, self), f32(l.Space, s.Uint64N(5)), m.fw(l.Idx, s.Uint64N(3)), m.fw(l.GPFN, []uint64{ram(), 0xe0000 + s.Uint64N(4), s.number()}[s.IntN(3)])), true
	case nr == abi.HypercallMemoryOp && cmd == abi.XenmemRemoveFromPhysmap:
		l := abi.RemoveFromPhysmapLayout(m.width)
		return m.arg(f16(l.DomID, self), m.fw(l.GPFN, []uint64{ram(), 0xe0000 + s.Uint64N(4)}[s.IntN(2)])), true
	case nr == abi.HypercallVCPUOp && cmd == abi.VCPUOpRegisterVCPUInfo:
		return m.arg(f64(0, ram()), f32(8, s.Uint64N(64)*64)), true
	case nr == abi.HypercallVCPUOp && cmd == abi.VCPUOpInitialise:
		m.arg([][]field{ctx32(), ctx64()}[s.IntN(2)]...)
		m.write(argAt+s.Uint64N(120), []byte{byte(s.Uint64())})
		return argAt, true
	case nr == abi.HypercallGrantTableOp && cmd == abi.GnttabopCopy:
		l := abi.GrantCopyLayout(m.width)
		return m.arg(m.fw(l.SrcFrame, ram()), f16(l.SrcDom, self), f16(l.SrcOff, s.Uint64N(4097)), m.fw(l.DstFrame, ram()), f16(l.DstDom, self), f16(l.Len, s.Uint64N(100))), true
	case nr == abi.HypercallHVMOp && cmd <= abi.HVMOpGetParam:
		return m.arg(f16(0, self), f32(4, s.Uint64N(40)), f64(8, s.number())), true
	}
	return 0, false
}

// step makes one random hypercall on a random vCPU.
func (m *machine) step(s source) { m.stepOn(m.d.VCPU(s.IntN(len(m.d.vcpus))), s) }

func (m *machine) stepOn(v *VCPU, s source) {
	c := offeredCalls[s.IntN(len(offeredCalls))]
	nr, cmd := c.nr, s.Uint64N(c.cmds)
	if s.IntN(50) == 0 {
		nr = s.number()
	}
	if s.IntN(50) == 0 {
		cmd = s.number()
	}
	var a [6]uint64
	for i := range a {
		if s.IntN(2) == 0 {
			a[i] = s.pointer()
		} else {
			a[i] = s.number()
		}
	}
	if m.s.long() && m.width == abi.Width32 || !m.s.long() && m.width == abi.Width64 {
		m.setWidth(m.width)
	}
	if p, ok := m.sensible(s, nr, cmd); ok && s.IntN(4) != 0 {
		a[1], a[2] = p, p
	}
	switch c.nr {
	case abi.HypercallMulticall:
		a[1] = s.Uint64N(16)
	case abi.HypercallGrantTableOp:
		a[0], a[2] = cmd, 1+s.Uint64N(3)*s.Uint64N(2)
	case abi.HypercallVCPUOp:
		a[0], a[1] = cmd, s.Uint64N(5)
	case abi.HypercallVMAssist, abi.HypercallConsoleIO:
		a[0] = cmd
	case abi.HypercallSetTimerOp:
	default:
		a[0] = cmd
	}
	r := Registers{RAX: nr, RDI: a[0], RSI: a[1], RDX: a[2], R10: a[3], R8: a[4], R9: a[5]}
	if !m.s.long() {
		r = Registers{RAX: nr, RBX: a[0], RCX: a[1], RDX: a[2], RSI: a[3], RDI: a[4], RBP: a[5]}
	}
	out := v.Hypercall(&r, &m.s)
	if out.Kind == Poll {
		v.PollDone()
	}
	v.Exited()
	v.Entering()
	if s.IntN(16) == 0 {
		v.WriteMSR(abi.HypercallMSR, s.pointer()&^0xfff, &m.s)
		v.AddStolen(s.number())
	}
}

func FuzzHypercall(f *testing.F) {
	for i := range uint64(8) {
		f.Add(i, i*77, uint64(17), uint64(i), uint64(argAt), uint64(1), []byte{1, 2, 3, 4, 5, 6, 7, 8})
	}
	f.Add(uint64(0), uint64(0), uint64(12), uint64(7), uint64(argAt), uint64(0), []byte{0xf0, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3})
	f.Fuzz(func(t *testing.T, seed, mode, nr, a0, a1, a2 uint64, arg []byte) {
		m := newMachine(t, abi.Width64)
		s := source{rand.New(rand.NewPCG(seed, mode))}
		for i := range 8 {
			m.setWidth([]abi.Width{abi.Width64, abi.Width32}[(mode+uint64(i))%2])
			if mode%5 == 4 {
				m.randomState(s)
			}
			m.write(argAt, arg[:min(len(arg), 4096)])
			r := Registers{RAX: nr, RDI: a0, RSI: a1, RDX: a2, RBX: a0, RCX: a1}
			out := m.v.Hypercall(&r, &m.s)
			if out.Kind == Poll {
				m.v.PollDone()
			}
			m.scramble(s)
			m.step(s)
		}
	})
}

// TestRandomHypercalls makes very many random calls (XENVMM_FUZZ_CALLS, or
// 200000) and holds the shim to its bounds: no panic, memory that does not
// grow, and no call that takes long.
func TestRandomHypercalls(t *testing.T) {
	calls := 200_000
	if s := os.Getenv("XENVMM_FUZZ_CALLS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("XENVMM_FUZZ_CALLS=%q: %v", s, err)
		}
		calls = n
	} else if testing.Short() {
		calls = 20_000
	}
	m := newMachine(t, abi.Width64)
	s := source{rand.New(rand.NewPCG(1, 2))}
	var worst time.Duration
	var heapLimit uint64
	for i := range calls {
		if i%4 == 0 {
			m.scramble(s)
			m.randomState(s)
		}
		if i%1000 == 0 {
			m.pass(1_000_000)
			for v := range 4 {
				m.d.TimerExpired(v)
			}
			if i%50_000 == 0 {
				if err := m.d.Reset(); err != nil {
					t.Fatal(err)
				}
			}
		}
		start := time.Now()
		m.step(s)
		worst = max(worst, time.Since(start))
		if i == calls/10 {
			heapLimit = heapNow() + 8<<20
		}
	}
	if got := heapNow(); got > heapLimit {
		t.Errorf("heap is %d bytes, more than %d: it grows", got, heapLimit)
	}
	// A full work budget is a few ms; the rest is for a busy machine.
	if worst > 2*time.Second {
		t.Errorf("a call took %v", worst)
	}
	t.Logf("%d calls, the longest %v", calls, worst)
}

func heapNow() uint64 {
	runtime.GC()
	var ms runtime.MemStats
	runtime.ReadMemStats(&ms)
	return ms.HeapAlloc
}
