// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"strings"
	"testing"

	"xenvmm/xenshim/abi"
)

func TestConsoleIO(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		text := strings.Repeat("0123456789abcdef", 1024)
		m.write(bufAt, []byte(text))
		m.want("write", m.call(abi.HypercallConsoleIO, abi.ConsoleIOWrite, uint64(len(text)), bufAt), abi.OK)
		if m.console.String() != text {
			t.Errorf("%d bytes arrived", len(m.console.String()))
		}
		m.want("nothing", m.call(abi.HypercallConsoleIO, abi.ConsoleIOWrite, 0, unmapped), abi.OK)
		m.want("unmapped", m.call(abi.HypercallConsoleIO, abi.ConsoleIOWrite, 1, unmapped), abi.EFAULT)
		m.want("runs out of RAM", m.call(abi.HypercallConsoleIO, abi.ConsoleIOWrite, 0x3000, ramSize-0x1000), abi.EFAULT)
		m.want("limit", m.call(abi.HypercallConsoleIO, abi.ConsoleIOWrite, consoleWriteMax, bufAt), abi.OK)
		m.want("too much", m.call(abi.HypercallConsoleIO, abi.ConsoleIOWrite, consoleWriteMax+1, bufAt), abi.E2BIG)
		m.want("absurd", m.call(abi.HypercallConsoleIO, abi.ConsoleIOWrite, 0xffff_ffff, bufAt), abi.E2BIG)
		m.want("read", m.call(abi.HypercallConsoleIO, abi.ConsoleIORead, 100, unmapped), abi.OK)
		m.want("unknown", m.call(abi.HypercallConsoleIO, 2, 1, bufAt), abi.ENOSYS)
	})
}

func TestSetTimerOp(t *testing.T) {
	m := newMachine(t, abi.Width64)
	m.want("set", m.call(abi.HypercallSetTimerOp, 5_000_000), abi.OK)
	if m.plat.timer[0] != 5_000_000 {
		t.Errorf("deadline %d", m.plat.timer[0])
	}
	m.want("stop", m.call(abi.HypercallSetTimerOp, 0), abi.OK)
	if m.plat.timer[0] != 0 {
		t.Errorf("deadline %d after a stop", m.plat.timer[0])
	}
	for _, far := range []uint64{1 << 63, m.plat.now + 1<<50 + 1, ^uint64(0)} {
		m.want("far", m.call(abi.HypercallSetTimerOp, far), abi.OK)
		if got := m.plat.timer[0]; got != m.plat.now+100_000_000 {
			t.Errorf("%#x: deadline %d", far, got)
		}
	}
}

func TestVMAssist(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		m.want("enable", m.call(abi.HypercallVMAssist, 0, 5), abi.OK)
		m.want("disable", m.call(abi.HypercallVMAssist, 1, 5), abi.OK)
		m.want("bad command", m.call(abi.HypercallVMAssist, 2, 5), abi.ENOSYS)
		for _, typ := range []uint64{0, 1, 2, 3, 4, 6, 63, 64, 0xffff_ffff} {
			m.want("bad type", m.call(abi.HypercallVMAssist, 0, typ), abi.EINVAL)
			m.want("bad type before bad command", m.call(abi.HypercallVMAssist, 9, typ), abi.EINVAL)
		}
	})
}

func TestPhysdevOp(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		for _, cmd := range []uint64{abi.PhysdevOpMapPirq, abi.PhysdevOpUnmapPirq} {
			m.want("self", m.call(abi.HypercallPhysdevOp, cmd, m.arg(f16(0, uint64(abi.DomIDSelf)))), abi.EPERM)
			m.want("own id", m.call(abi.HypercallPhysdevOp, cmd, m.arg(f16(0, 7))), abi.EPERM)
			m.want("unknown domain", m.call(abi.HypercallPhysdevOp, cmd, m.arg(f16(0, 8))), abi.ESRCH)
			m.want("unmapped", m.call(abi.HypercallPhysdevOp, cmd, unmapped), abi.EFAULT)
		}
		for _, cmd := range []uint64{abi.PhysdevOpEOI, abi.PhysdevOpIRQStatusQuery, abi.PhysdevOpGetFreePirq, 17, 28, 0, 99} {
			m.want("not offered", m.call(abi.HypercallPhysdevOp, cmd, argAt), abi.ENOSYS)
		}
	})
}

func TestCPUID(t *testing.T) {
	m := newMachine(t, abi.Width64)
	for vcpu := range 4 {
		leaves := map[[2]uint32]CPUIDLeaf{}
		for _, l := range m.d.CPUID(vcpu) {
			leaves[[2]uint32{l.Function - abi.CPUIDBase, l.Index}] = l
		}
		l0, l4, l3 := leaves[[2]uint32{0, 0}], leaves[[2]uint32{4, 0}], leaves[[2]uint32{3, 0}]
		if l0.EAX != 0x40000005 || l0.EBX != 0x566e6558 || l0.ECX != 0x65584d4d || l0.EDX != 0x4d4d566e {
			t.Errorf("signature %+v", l0)
		}
		if l := leaves[[2]uint32{1, 0}]; l.EAX != 0x40011 {
			t.Errorf("version %+v", l)
		}
		if l := leaves[[2]uint32{2, 0}]; l.EAX != 1 || l.EBX != 0x40000000 {
			t.Errorf("hypercall page %+v", l)
		}
		if l3.EBX != 2 || l3.ECX != 2_500_000 || l3.EDX != 0 {
			t.Errorf("time %+v", l3)
		}
		// 2.5 GHz: 0.4 ns a tick.
		if l := leaves[[2]uint32{3, 1}]; l.ECX != 0xcccccccc || int32(l.EDX) != -1 {
			t.Errorf("scale %+v", l)
		}
		if l := leaves[[2]uint32{3, 2}]; l.EAX != 2_500_000 {
			t.Errorf("host kHz %+v", l)
		}
		if l4.EAX != 1<<3|1<<4|1<<6 || l4.EBX != uint32(vcpu) || l4.ECX != 7 || l4.EDX != 0 {
			t.Errorf("features %+v", l4)
		}
		if _, ok := leaves[[2]uint32{5, 0}]; !ok {
			t.Error("leaf 5 is missing")
		}
	}
}

func TestTSCScale(t *testing.T) {
	for _, khz := range []uint32{1, 999, 1_000_000, 1_000_001, 2_400_000, 5_000_000, 0xffff_ffff} {
		mul, shift := tscScale(khz)
		// A second of ticks must come out as a second, to 1 in 10^9.
		ticks := float64(khz) * 1000
		ns := ticks * float64(mul) / (1 << 32)
		for s := int32(shift); s > 0; s-- {
			ns *= 2
		}
		for s := int32(shift); s < 0; s++ {
			ns /= 2
		}
		if ns < 1e9-2 || ns > 1e9+2 || mul>>31 == 0 {
			t.Errorf("%d kHz: mul %#x shift %d: a second is %v ns", khz, mul, int32(shift), ns)
		}
	}
	if mul, shift := tscScale(0); mul != 0 || shift != 0 {
		t.Error("0 kHz")
	}
}

func TestHypercallPage(t *testing.T) {
	m := newMachine(t, abi.Width64)
	if !m.v.WriteMSR(abi.HypercallMSR, 0x5000, &m.s) {
		t.Fatal("refused")
	}
	p := m.read(0x5000, 4096)
	for i := range 128 {
		s := p[i*32:][:32]
		used := 8
		if i == 23 {
			used = 2
			if s[0] != 0x0f || s[1] != 0x0b {
				t.Errorf("slot 23: % x", s)
			}
		} else if s[0] != 0xb8 || s[1] != byte(i) || s[2]|s[3]|s[4] != 0 || s[5] != 0xe7 || s[6] != 0xfa || s[7] != 0xc3 {
			t.Errorf("slot %d: % x", i, s)
		}
		for _, b := range s[used:] {
			if b != 0xcc {
				t.Errorf("slot %d: rest is % x", i, s[used:])
				break
			}
		}
	}
	for _, c := range []struct {
		index uint32
		value uint64
		ok    bool
	}{
		{abi.HypercallMSR, 0x1001, false},
		{abi.HypercallMSR, 0x1fff, false},
		{abi.HypercallMSR, ramSize, false},
		{abi.HypercallMSR, DefaultStoreGFN << pageShift, false},
		{abi.HypercallMSR, 1 << 52, false},
		{abi.HypercallMSR, 0xffff_ffff_ffff_f000, false},
		{abi.HypercallMSR + 1, 0x1000, false},
		{0x10, 0x1000, false},
		{abi.HypercallMSR, 0, true},
		{abi.HypercallMSR, ramSize - 4096, true},
	} {
		if got := m.v.WriteMSR(c.index, c.value, &m.s); got != c.ok {
			t.Errorf("wrmsr %#x <- %#x: %v", c.index, c.value, got)
		}
	}
	if v, ok := m.v.ReadMSR(abi.HypercallMSR); v != 0 || !ok {
		t.Errorf("rdmsr: %#x %v", v, ok)
	}
	if _, ok := m.v.ReadMSR(abi.HypercallMSR + 1); ok {
		t.Error("rdmsr of the next MSR")
	}
}
