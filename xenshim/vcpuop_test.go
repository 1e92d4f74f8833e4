// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"testing"

	"xenvmm/xenshim/abi"
)

func (m *machine) vcpuOp(cmd, vcpu, ptr uint64) int64 {
	m.t.Helper()
	return m.call(abi.HypercallVCPUOp, cmd, vcpu, ptr)
}

func TestVCPUOpChecksTheVCPUFirst(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		for cmd := range uint64(20) {
			m.want("vcpu 4", m.vcpuOp(cmd, 4, unmapped), abi.ENOENT)
			m.want("vcpu -1", m.vcpuOp(cmd, 0xffff_ffff, unmapped), abi.ENOENT)
		}
		for _, cmd := range []uint64{abi.VCPUOpRegisterVCPUTimeMemoryArea, abi.VCPUOpRegisterVCPUTimePhysArea, 16, 99} {
			m.want("not offered", m.vcpuOp(cmd, 0, argAt), abi.ENOSYS)
		}
		m.want("get_physid", m.vcpuOp(abi.VCPUOpGetPhysid, 0, argAt), abi.EINVAL)
	})
}

// ctx64 and ctx32 are good start states.
func ctx64() []field {
	r := uint32(abi.VCPUContextRegs)
	return []field{
		f32(0, abi.VCPUHVMMode64B), f64(r, 0x11), f64(r+8, 0x22), f64(r+abi.VCPU64RIP, 0xffff_ffff_8100_0000),
		f64(r+abi.VCPU64RFlags, 0xffff_ffff), f64(r+abi.VCPU64CR0, cr0PE|cr0PG), f64(r+abi.VCPU64CR3, 0x1000),
		f64(r+abi.VCPU64CR4, cr4PAE), f64(r+abi.VCPU64EFER, eferLME),
	}
}

func ctx32() []field {
	r := uint32(abi.VCPUContextRegs)
	out := []field{f32(0, abi.VCPUHVMMode32B), f32(r+abi.VCPU32EIP, 0x10_0000), f32(r+abi.VCPU32CR0, cr0PE), f32(r+12, 0xb)}
	for i := range uint32(4) {
		out = append(out, f32(r+abi.VCPU32Limit+4*i, 0xffff_ffff))
	}
	out = append(out, f32(r+abi.VCPU32Limit+16, 0x67))
	for i, ar := range []uint64{0xc9a, 0xc92, 0xc92, 0xc92, 0x89} {
		out = append(out, f16(r+abi.VCPU32AR+2*uint32(i), ar))
	}
	return out
}

func TestVCPUInitialise(t *testing.T) {
	r := uint32(abi.VCPUContextRegs)
	ar := func(i uint32) uint32 { return r + abi.VCPU32AR + 2*i }
	eachWidth(t, func(t *testing.T, m *machine) {
		for _, c := range []struct {
			name string
			base []field
			edit []field
			want abi.Errno
		}{
			{"64-bit", ctx64(), nil, abi.OK},
			{"64-bit, no paging", ctx64(), []field{f64(r+abi.VCPU64CR0, cr0PE)}, abi.EINVAL},
			{"64-bit, no PAE", ctx64(), []field{f64(r+abi.VCPU64CR4, 0)}, abi.EINVAL},
			{"64-bit, no LME", ctx64(), []field{f64(r+abi.VCPU64EFER, eferLMA)}, abi.EINVAL},
			{"64-bit, RIP not canonical", ctx64(), []field{f64(r+abi.VCPU64RIP, 1<<47)}, abi.EINVAL},
			{"64-bit, EFER.SVME", ctx64(), []field{f64(r+abi.VCPU64EFER, eferLME|1<<12)}, abi.EINVAL},
			{"64-bit, CR4.VMXE", ctx64(), []field{f64(r+abi.VCPU64CR4, cr4PAE|1<<13)}, abi.EINVAL},
			{"64-bit, CR4 high bits", ctx64(), []field{f64(r+abi.VCPU64CR4, cr4PAE|1<<40)}, abi.EINVAL},
			{"pad", ctx64(), []field{f32(4, 1)}, abi.EINVAL},
			{"mode 2", ctx64(), []field{f32(0, 2)}, abi.EINVAL},
			{"mode -1", ctx64(), []field{f32(0, 0xffff_ffff)}, abi.EINVAL},
			{"32-bit", ctx32(), nil, abi.OK},
			{"32-bit, null data segments", ctx32(), []field{f16(ar(1), 0), f16(ar(3), 0)}, abi.OK},
			{"32-bit, pad1", ctx32(), []field{f32(r+abi.VCPU32Pad1, 1)}, abi.EINVAL},
			{"32-bit, pad2", ctx32(), []field{f16(r+abi.VCPU32Pad2+4, 1)}, abi.EINVAL},
			{"32-bit, null CS", ctx32(), []field{f16(ar(0), 0)}, abi.EINVAL},
			{"32-bit, CS not code", ctx32(), []field{f16(ar(0), 0xc92)}, abi.EINVAL},
			{"32-bit, CS system segment", ctx32(), []field{f16(ar(0), 0xc8a)}, abi.EINVAL},
			{"32-bit, CS not present", ctx32(), []field{f16(ar(0), 0xc1a)}, abi.EINVAL},
			{"32-bit, AR high bits", ctx32(), []field{f16(ar(0), 0x1c9a)}, abi.EINVAL},
			{"32-bit, null SS", ctx32(), []field{f16(ar(2), 0)}, abi.EINVAL},
			{"32-bit, SS read-only", ctx32(), []field{f16(ar(2), 0xc90)}, abi.EINVAL},
			{"32-bit, SS code", ctx32(), []field{f16(ar(2), 0xc9a)}, abi.EINVAL},
			{"32-bit, SS DPL", ctx32(), []field{f16(ar(2), 0xcf2)}, abi.EINVAL},
			{"32-bit, DS execute-only", ctx32(), []field{f16(ar(1), 0xc98)}, abi.EINVAL},
			{"32-bit, DS readable code", ctx32(), []field{f16(ar(1), 0xc9a)}, abi.OK},
			{"32-bit, ES DPL", ctx32(), []field{f16(ar(3), 0xcf2)}, abi.EINVAL},
			{"32-bit, null TR", ctx32(), []field{f16(ar(4), 0)}, abi.EINVAL},
			{"32-bit, TR busy", ctx32(), []field{f16(ar(4), 0x8b)}, abi.OK},
			{"32-bit, TR 16-bit", ctx32(), []field{f16(ar(4), 0x81)}, abi.EINVAL},
			{"32-bit, TR data", ctx32(), []field{f16(ar(4), 0x93)}, abi.EINVAL},
			{"32-bit, EIP beyond CS", ctx32(), []field{f32(r+abi.VCPU32Limit, 0xff), f16(ar(0), 0x49a)}, abi.EINVAL},
			{"32-bit, LMA without LME", ctx32(), []field{f64(r+abi.VCPU32EFER, eferLMA)}, abi.EINVAL},
			{"32-bit, NXE", ctx32(), []field{f64(r+abi.VCPU32EFER, eferNXE)}, abi.OK},
		} {
			m.plat.inited[1] = nil
			m.arg(append(c.base, c.edit...)...)
			m.want(c.name, m.vcpuOp(abi.VCPUOpInitialise, 1, argAt), c.want)
			if (m.plat.inited[1] != nil) != (c.want == abi.OK) {
				t.Errorf("%s: initialised %v", c.name, m.plat.inited[1] != nil)
			}
		}
		m.plat.inited[1] = nil
		m.arg(ctx64()...)
		m.want("first", m.vcpuOp(abi.VCPUOpInitialise, 1, argAt), abi.OK)
		m.want("twice", m.vcpuOp(abi.VCPUOpInitialise, 1, argAt), abi.EEXIST)
		x := m.plat.inited[1]
		if x.RAX != 0x11 || x.RCX != 0x22 || x.EFER != eferLME|eferLMA || x.RFLAGS != 0x3f7fd7 || x.CS.AR != 0xa9b || x.TR.Limit != 0x67 {
			t.Errorf("64-bit context %+v", x)
		}
		m.arg(ctx32()...)
		m.want("32-bit", m.vcpuOp(abi.VCPUOpInitialise, 2, argAt), abi.OK)
		x = m.plat.inited[2]
		if x.RBX != 0xb || x.RIP != 0x10_0000 || x.CS.AR != 0xc9b || x.DS.AR != 0xc93 || x.TR.AR != 0x8b || x.TR.Limit != 0x67 || x.EFER != 0 {
			t.Errorf("32-bit context %+v", x)
		}
		m.want("unmapped", m.vcpuOp(abi.VCPUOpInitialise, 3, unmapped), abi.EFAULT)
	})
}

func TestVCPUUpAndDown(t *testing.T) {
	m := newMachine(t, abi.Width64)
	m.want("up without a state", m.vcpuOp(abi.VCPUOpUp, 1, 0), abi.EINVAL)
	m.wantN("is_up", m.vcpuOp(abi.VCPUOpIsUp, 1, 0), 0)
	m.arg(ctx64()...)
	m.want("initialise", m.vcpuOp(abi.VCPUOpInitialise, 1, argAt), abi.OK)
	m.want("up", m.vcpuOp(abi.VCPUOpUp, 1, 0), abi.OK)
	m.want("up again", m.vcpuOp(abi.VCPUOpUp, 1, 0), abi.OK)
	m.wantN("is_up", m.vcpuOp(abi.VCPUOpIsUp, 1, 0), 1)
	m.want("down", m.vcpuOp(abi.VCPUOpDown, 1, 0), abi.OK)
	if m.out.Kind != Resume {
		t.Errorf("outcome of another's down: %v", m.out.Kind)
	}
	m.wantN("is_up", m.vcpuOp(abi.VCPUOpIsUp, 1, 0), 0)
	m.want("up", m.vcpuOp(abi.VCPUOpUp, 1, 0), abi.OK)
	m.want("own down", m.vcpuOp(abi.VCPUOpDown, 0, 0), abi.OK)
	if m.out.Kind != Offline || len(m.plat.shutdowns) != 0 {
		t.Errorf("outcome of the own down: %v, shutdowns %v", m.out.Kind, m.plat.shutdowns)
	}
	m.want("last one down", m.callOn(m.d.VCPU(1), abi.HypercallVCPUOp, abi.VCPUOpDown, 1, 0), abi.OK)
	if m.out.Kind != Shutdown || len(m.plat.shutdowns) != 1 || m.plat.shutdowns[0] != abi.ShutdownPoweroff {
		t.Errorf("outcome of the last down: %v, shutdowns %v", m.out.Kind, m.plat.shutdowns)
	}
}

func TestVCPUTimers(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		period := func(vcpu, ns uint64) int64 {
			return m.vcpuOp(abi.VCPUOpSetPeriodicTimer, vcpu, m.arg(f64(0, ns)))
		}
		m.want("stop one never started", m.vcpuOp(abi.VCPUOpStopPeriodicTimer, 0, 0), abi.OK)
		m.want("1 ms", period(0, 1_000_000), abi.OK)
		if m.plat.timer[0] != m.plat.now+1_000_000 {
			t.Errorf("alarm at %d", m.plat.timer[0])
		}
		m.want("under 1 ms", period(0, 999_999), abi.EINVAL)
		m.want("0", period(0, 0), abi.EINVAL)
		m.want("too long", period(0, 1<<62+1), abi.EINVAL)
		m.want("another's", period(2, 5_000_000), abi.OK)
		m.want("stop", m.vcpuOp(abi.VCPUOpStopPeriodicTimer, 0, 0), abi.OK)
		m.want("unmapped", m.vcpuOp(abi.VCPUOpSetPeriodicTimer, 0, unmapped), abi.EFAULT)

		l := abi.SetSingleshotTimerLayout(m.width)
		shot := func(vcpu, ns, flags uint64) int64 {
			return m.vcpuOp(abi.VCPUOpSetSingleshotTimer, vcpu, m.arg(f64(l.Timeout, ns), f32(l.Flags, flags)))
		}
		m.want("one shot", shot(0, m.plat.now+5000, 0), abi.OK)
		if m.plat.timer[0] != m.plat.now+5000 {
			t.Errorf("alarm at %d", m.plat.timer[0])
		}
		m.want("past, and the guest wants to know", shot(0, 1, abi.VCPUSingleshotFuture), abi.OK)
		m.want("another's", shot(1, 5000, 0), abi.EINVAL)
		m.want("another's before the argument", m.vcpuOp(abi.VCPUOpSetSingleshotTimer, 1, unmapped), abi.EINVAL)
		m.want("unmapped", m.vcpuOp(abi.VCPUOpSetSingleshotTimer, 0, unmapped), abi.EFAULT)
		m.want("stop", m.vcpuOp(abi.VCPUOpStopSingleshotTimer, 0, 0), abi.OK)
		m.want("stop another's", m.vcpuOp(abi.VCPUOpStopSingleshotTimer, 1, 0), abi.EINVAL)
		if m.width == abi.Width32 {
			// The 32-bit structure is 12 bytes: it may end where memory ends.
			m.write(ramSize-12, make([]byte, 12))
			m.want("at the end of RAM", m.vcpuOp(abi.VCPUOpSetSingleshotTimer, 0, ramSize-12), abi.OK)
		}
	})
}

func TestTimerRaisesVIRQ(t *testing.T) {
	m := newMachine(t, abi.Width64)
	m.mapShared(sharedGFN)
	m.want("bind", m.call(abi.HypercallEventChannelOp, abi.EvtchnopBindVIRQ, m.arg(f32(0, abi.VIRQTimer), f32(4, 0))), abi.OK)
	port := m.r32(argAt + 8)
	m.want("set", m.call(abi.HypercallSetTimerOp, m.plat.now+100), abi.OK)
	m.plat.locked(func() { m.plat.now += 100 })
	m.d.TimerExpired(0)
	if m.r64(sharedGFN<<pageShift+0x800)&(1<<port) == 0 || m.plat.upcalls[0] == 0 {
		t.Error("no event")
	}
}

func TestSendNMI(t *testing.T) {
	m := newMachine(t, abi.Width64)
	m.want("nmi", m.vcpuOp(abi.VCPUOpSendNMI, 1, 0), abi.OK)
	m.want("with an argument", m.vcpuOp(abi.VCPUOpSendNMI, 1, argAt), abi.EINVAL)
	if m.plat.nmis != 1 {
		t.Errorf("%d NMIs", m.plat.nmis)
	}
}

func TestRegisterVCPUInfo(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		reg := func(vcpu, mfn, off uint64) int64 {
			return m.vcpuOp(abi.VCPUOpRegisterVCPUInfo, vcpu, m.arg(f64(0, mfn), f32(8, off)))
		}
		m.mapShared(sharedGFN)
		m.want("crosses a page", reg(1, 0x600, 4096-63), abi.ENXIO)
		m.want("offset beyond the page", reg(1, 0x600, 4096), abi.ENXIO)
		m.want("offset absurd", reg(1, 0x600, 0xffff_ffff), abi.ENXIO)
		m.want("misaligned", reg(1, 0x600, 2), abi.ENXIO)
		m.want("no memory", reg(1, 0xe0000, 0), abi.EINVAL)
		m.want("mfn too big", reg(1, ^uint64(0), 0), abi.EINVAL)
		m.want("mfn wraps", reg(1, 1<<52, 0), abi.EINVAL)
		m.want("last place in the page", reg(1, 0x600, 4096-64), abi.OK)
		if m.plat.systime[1] != 0x600_fe0 {
			t.Errorf("pvclock at %#x", m.plat.systime[1])
		}
		m.want("twice", reg(1, 0x600, 0), abi.EBUSY)
		m.want("unmapped", m.vcpuOp(abi.VCPUOpRegisterVCPUInfo, 2, unmapped), abi.EFAULT)
		m.mapShared(0x302)
		if m.plat.systime[1] != 0x600_fe0 || m.plat.systime[0] != 0x302_020 {
			t.Errorf("after a move of shared_info: pvclocks at %#x", m.plat.systime[:2])
		}
	})
}

// crossPlatform makes the other vCPU go down while this one asks about it.
type crossPlatform struct {
	*fakePlatform
	hook func()
}

func (p *crossPlatform) VCPUIsUp(v int) bool {
	if h := p.hook; h != nil {
		p.hook = nil
		h()
	}
	return p.fakePlatform.VCPUIsUp(v)
}

// VCPUDown keeps the vCPU up, as a machine does until its thread has parked.
func (p *crossPlatform) VCPUDown(int) abi.Errno { return abi.OK }

func TestTwoVCPUsGoDownAtOnce(t *testing.T) {
	var p *crossPlatform
	m := newMachine(t, abi.Width64, func(c *Config) {
		p = &crossPlatform{fakePlatform: c.Platform.(*fakePlatform)}
		c.Platform = p
	})
	p.up[1] = true
	// vCPU 1 goes down in the middle of vCPU 0's call.
	p.hook = func() {
		other := *m
		other.want("other's down", other.callOn(m.d.VCPU(1), abi.HypercallVCPUOp, abi.VCPUOpDown, 1, 0), abi.OK)
	}
	m.want("down", m.vcpuOp(abi.VCPUOpDown, 0, 0), abi.OK)
	if len(p.shutdowns) == 0 || p.shutdowns[0] != abi.ShutdownPoweroff {
		t.Errorf("all vCPUs are down and the domain stays: %v", p.shutdowns)
	}
	// One that comes up again counts.
	p.shutdowns = nil
	m.d.VCPU(1).Entering()
	m.want("down", m.vcpuOp(abi.VCPUOpDown, 0, 0), abi.OK)
	if m.out.Kind != Offline || p.shutdowns != nil {
		t.Errorf("outcome %v, shutdowns %v", m.out.Kind, p.shutdowns)
	}
}
