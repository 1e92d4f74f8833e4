// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"testing"

	"xenvmm/xenshim/abi"
)

func TestCallerPrivilege(t *testing.T) {
	m := newMachine(t, abi.Width64)
	eperm := uint64(errno(abi.EPERM))
	for _, c := range []struct {
		name string
		s    CPUState
		want uint64
	}{
		{"64-bit CPL 0", m.s, 0x40011},
		{"64-bit CPL 3", CPUState{CR0: m.s.CR0, CR3: m.s.CR3, CR4: m.s.CR4, EFER: m.s.EFER, CSLong: true, CPL: 3}, eperm},
		{"64-bit CPL 1", CPUState{CR0: m.s.CR0, CR3: m.s.CR3, CR4: m.s.CR4, EFER: m.s.EFER, CSLong: true, CPL: 1}, eperm},
		{"32-bit CPL 3 has the full RAX", CPUState{CR0: cr0PE, CPL: 3}, eperm},
		{"real mode", CPUState{}, 0x40011},
		{"real mode, SS.DPL left over", CPUState{CPL: 3}, 0x40011},
		{"VM86", CPUState{CR0: cr0PE, RFLAGS: rflagsVM}, eperm},
		{"compatibility mode", CPUState{CR0: m.s.CR0, CR3: m.s.CR3, CR4: m.s.CR4, EFER: m.s.EFER}, 0x40011},
	} {
		r := Registers{RAX: abi.HypercallXenVersion}
		m.v.Hypercall(&r, &c.s)
		if r.RAX != c.want {
			t.Errorf("%s: RAX %#x, want %#x", c.name, r.RAX, c.want)
		}
	}
}

func TestConventionFollowsCurrentMode(t *testing.T) {
	m := newMachine(t, abi.Width64)
	// set_timer_op takes one 64-bit or two 32-bit arguments.
	r := Registers{RAX: abi.HypercallSetTimerOp, RDI: 0x1_0000_0005, RBX: 9, RCX: 9}
	m.v.Hypercall(&r, &m.s)
	if m.plat.timer[0] != 0x1_0000_0005 {
		t.Errorf("64-bit deadline %#x", m.plat.timer[0])
	}
	compat := m.s
	compat.CSLong = false
	r = Registers{RAX: 0xdead_0000_0000_0000 | abi.HypercallSetTimerOp, RBX: 0xffff_ffff_0000_0007, RCX: 2, RDI: 9}
	m.v.Hypercall(&r, &compat)
	if m.plat.timer[0] != 0x2_0000_0007 || r.RAX != 0 {
		t.Errorf("32-bit deadline %#x, RAX %#x", m.plat.timer[0], r.RAX)
	}
}

func TestUnofferedHypercalls(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		offered := map[uint64]bool{
			12: true, 13: true, 15: true, 17: true, 18: true, 20: true,
			21: true, 24: true, 29: true, 32: true, 33: true, 34: true,
		}
		for nr := range uint64(300) {
			if !offered[nr] {
				m.want("unoffered", m.call(nr, argAt, argAt, 1), abi.ENOSYS)
			}
		}
		if m.width == abi.Width64 {
			m.want("high bits of RAX count", m.call(1<<32|abi.HypercallXenVersion), abi.ENOSYS)
			m.want("-1", m.call(^uint64(0)), abi.ENOSYS)
		}
	})
}

func TestArgumentsMayCrossPages(t *testing.T) {
	m := newMachine(t, abi.Width64)
	// Two linear pages that are not adjacent in memory.
	pt := uint64(tables + 0x3000)
	m.w64(tables+0x1000+8*3, tables+0x2000|ptePresent|pteWrite) // linear 3 GiB
	m.w64(tables+0x2000, pt|ptePresent|pteWrite)
	m.w64(pt, 0x40_0000|ptePresent|pteWrite)
	m.w64(pt+8, 0x50_0000|ptePresent|pteWrite)
	at := uint64(3<<30 + 0xff8)
	m.write(0x40_0ff8, []byte{0, 0, 0, 0})
	m.want("features", m.call(abi.HypercallXenVersion, abi.XenverGetFeatures, at+4), abi.OK) // 4 + 4 bytes
	if got := m.r32(0x50_0000); got != features {
		t.Errorf("second page holds %#x, want %#x", got, features)
	}
	m.w64(pt+8, 0x50_0000|ptePresent) // read-only
	m.want("read-only second page", m.call(abi.HypercallXenVersion, abi.XenverGetFeatures, at+4), abi.EFAULT)
	m.w64(pt+8, 0)
	m.want("absent second page", m.call(abi.HypercallXenVersion, abi.XenverGetFeatures, at+4), abi.EFAULT)
	m.want("non-canonical", m.call(abi.HypercallXenVersion, abi.XenverGetFeatures, 1<<47), abi.EFAULT)
	m.want("end of the address space", m.call(abi.HypercallXenVersion, abi.XenverGetFeatures, ^uint64(3)), abi.EFAULT)
	m.setWidth(abi.Width32)
	m.want("end of the 32-bit space", m.call(abi.HypercallXenVersion, abi.XenverGetFeatures, 0xffff_fffc), abi.EFAULT)
}
