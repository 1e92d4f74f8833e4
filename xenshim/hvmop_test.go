// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"testing"

	"xenvmm/xenshim/abi"
)

func (m *machine) hvm(cmd, ptr uint64) int64 {
	m.t.Helper()
	return m.call(abi.HypercallHVMOp, cmd, ptr)
}

func (m *machine) param(cmd uint64, dom abi.DomID, index, value uint64) int64 {
	m.t.Helper()
	return m.hvm(cmd, m.arg(f16(0, uint64(dom)), f32(4, index), f64(8, value)))
}

func TestHVMParams(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		set := func(i, v uint64) int64 { return m.param(abi.HVMOpSetParam, abi.DomIDSelf, i, v) }
		get := func(i uint64) (int64, uint64) {
			r := m.param(abi.HVMOpGetParam, 7, i, 0x5555)
			return r, m.r64(argAt + 8)
		}
		for i, want := range map[uint64]uint64{
			abi.HVMParamStorePFN: DefaultStoreGFN, abi.HVMParamConsolePFN: DefaultConsoleGFN,
			abi.HVMParamStoreEvtchn: 1, abi.HVMParamConsoleEvtchn: 2,
			abi.HVMParamCallbackIRQ: 0, abi.HVMParamVMGenerationIDAddr: 0, abi.HVMParamAltp2m: 0,
		} {
			if r, v := get(i); r != 0 || v != want {
				t.Errorf("param %d: %d, %#x, want %#x", i, r, v, want)
			}
		}
		deprecated := map[uint64]bool{4: true, 13: true, 20: true, 21: true, 22: true, 23: true, 25: true, 26: true, 30: true}
		settable := map[uint64]bool{0: true, 2: true, 15: true, 18: true, 34: true, 36: true, 37: true}
		readable := map[uint64]bool{1: true, 17: true, 35: true, 19: true}
		for i := range uint64(45) {
			wantSet, wantGet := abi.EPERM, abi.EPERM
			switch {
			case i >= 39 || deprecated[i]:
				wantSet, wantGet = abi.EINVAL, abi.EINVAL
			case settable[i]:
				wantSet, wantGet = abi.OK, abi.OK
			case i == abi.HVMParamACPIIOPortsLocation:
				wantSet, wantGet = abi.ENODEV, abi.OK
			case readable[i]:
				wantGet = abi.OK
			}
			m.want("set", set(i, 8), wantSet)
			r, v := get(i)
			m.want("get", r, wantGet)
			if settable[i] && v != 8 {
				t.Errorf("param %d reads %#x", i, v)
			}
		}
		m.want("x87_fip_width", set(abi.HVMParamX87FIPWidth, 5), abi.EINVAL)
		for _, cmd := range []uint64{abi.HVMOpSetParam, abi.HVMOpGetParam} {
			m.want("index before domain", m.param(cmd, 8, 39, 0), abi.EINVAL)
			m.want("domain before rights", m.param(cmd, 8, 5, 0), abi.ESRCH)
			m.want("control domain", m.param(cmd, 0, 0, 0), abi.EPERM)
			m.want("absurd index", m.param(cmd, 7, 0xffff_ffff, 0), abi.EINVAL)
			m.want("unmapped", m.hvm(cmd, unmapped), abi.EFAULT)
		}
	})
}

func TestCallbackIRQ(t *testing.T) {
	m := newMachine(t, abi.Width64)
	for _, c := range []struct {
		value uint64
		want  Callback
	}{
		{0, Callback{}},
		{1, Callback{Type: CallbackGSI, GSI: 1}},
		{0x105, Callback{Type: CallbackGSI, GSI: 5}},
		{1<<56 | 3<<11 | 2, Callback{Type: CallbackINTx, Device: 3, Pin: 2}},
		{1<<56 | 0xff<<11 | 7, Callback{Type: CallbackINTx, Device: 31, Pin: 3}},
		{2<<56 | 0xf3, Callback{Type: CallbackVector, Vector: 0xf3}},
		{3 << 56, Callback{}},
		{^uint64(0), Callback{}},
	} {
		m.want("set", m.param(abi.HVMOpSetParam, abi.DomIDSelf, abi.HVMParamCallbackIRQ, c.value), abi.OK)
		if m.plat.callback != c.want {
			t.Errorf("%#x: %+v, want %+v", c.value, m.plat.callback, c.want)
		}
	}
	// An event that is pending is told the new way.
	m.mapShared(sharedGFN)
	m.sendPort(m.ipi(2))
	before := m.plat.upcalls[2]
	m.want("set", m.param(abi.HVMOpSetParam, abi.DomIDSelf, abi.HVMParamCallbackIRQ, 2<<56|0x40), abi.OK)
	if m.plat.upcalls[2] != before+1 {
		t.Error("pending event not told")
	}
}

func TestUpcallVector(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		set := func(vcpu, vector uint64) int64 {
			return m.hvm(abi.HVMOpSetEvtchnUpcallVector, m.arg(f32(0, vcpu), field{4, 1, vector}))
		}
		m.want("0x0f", set(0, 0x0f), abi.EINVAL)
		m.want("0", set(99, 0), abi.EINVAL) // the vector comes first
		m.want("0x10", set(1, 0x10), abi.OK)
		m.want("0xff", set(3, 0xff), abi.OK)
		m.want("vcpu 99", set(99, 0x10), abi.ENOENT)
		m.want("vcpu -1", set(0xffff_ffff, 0x10), abi.ENOENT)
		m.want("unmapped", m.hvm(abi.HVMOpSetEvtchnUpcallVector, unmapped), abi.EFAULT)
		if m.plat.vectors[1] != 0x10 || m.plat.vectors[3] != 0xff || m.plat.upcalls[1] != 1 || m.plat.upcalls[3] != 1 {
			t.Errorf("vectors %v, upcalls %v", m.plat.vectors[:4], m.plat.upcalls[:4])
		}
	})
}

func TestHVMOpRest(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		m.want("pagetable_dying", m.hvm(abi.HVMOpPagetableDying, m.arg(f16(0, 7))), abi.EINVAL)
		m.want("pagetable_dying, unknown", m.hvm(abi.HVMOpPagetableDying, m.arg(f16(0, 8))), abi.ESRCH)
		m.want("pagetable_dying, another", m.hvm(abi.HVMOpPagetableDying, m.arg(f16(0, 0))), abi.EOPNOTSUPP)
		m.want("get_time", m.hvm(abi.HVMOpGetTime, argAt), abi.OK)
		if got := m.r64(argAt); got != m.plat.now {
			t.Errorf("time %d", got)
		}
		m.want("xentrace", m.hvm(abi.HVMOpXentrace, m.arg(f16(0, 0xfff), f16(2, 28))), abi.OK)
		m.want("xentrace, too long", m.hvm(abi.HVMOpXentrace, m.arg(f16(0, 1), f16(2, 29))), abi.EINVAL)
		m.want("xentrace, event", m.hvm(abi.HVMOpXentrace, m.arg(f16(0, 0x1000), f16(2, 0))), abi.EINVAL)
		for _, cmd := range []uint64{abi.HVMOpPagetableDying, abi.HVMOpGetTime, abi.HVMOpXentrace} {
			m.want("unmapped", m.hvm(cmd, unmapped), abi.EFAULT)
		}
		for _, cmd := range []uint64{2, 5, 15, 22, 24, 25, 99} {
			m.want("unknown", m.hvm(cmd, argAt), abi.ENOSYS)
		}
	})
}
