// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"bytes"
	"testing"

	"xenvmm/xenshim/abi"
)

func TestSoftReset(t *testing.T) {
	m := newMachine(t, abi.Width64)
	fresh := newMachine(t, abi.Width64)
	m.write(bufAt, []byte("kept"))
	m.mapShared(sharedGFN)
	m.want("grants", m.addToPhysmap(7, abi.XenmapspaceGrantTable, 3, 0x310), abi.OK)
	m.want("vcpu_info", m.vcpuOp(abi.VCPUOpRegisterVCPUInfo, 1, m.arg(f64(0, 0x600))), abi.OK)
	m.want("runstate", m.vcpuOp(abi.VCPUOpRegisterRunstateMemoryArea, 0, m.arg(f64(0, bufAt+0x1000))), abi.OK)
	m.want("vector", m.hvm(abi.HVMOpSetEvtchnUpcallVector, m.arg(f32(0, 1), field{4, 1, 0x40})), abi.OK)
	m.want("callback", m.param(abi.HVMOpSetParam, 7, 0, 2<<56|0x41), abi.OK)
	m.want("store port", m.param(abi.HVMOpSetParam, 7, abi.HVMParamStoreEvtchn, 99), abi.OK)
	m.want("assist", m.call(abi.HypercallVMAssist, 0, 5), abi.OK)
	m.want("timer", m.call(abi.HypercallSetTimerOp, m.plat.now+1000), abi.OK)
	m.wantN("watchdog", m.sched(abi.SchedopWatchdog, m.arg(f32(0, 0), f32(4, 1000))), 1)
	m.want("code", m.sched(abi.SchedopShutdownCode, m.arg(f32(0, 3))), abi.OK)
	m.want("ports are lost", m.ev(abi.EvtchnopReset, m.arg(f16(0, 7))), abi.OK)
	m.want("RAM", m.call(abi.HypercallMemoryOp, abi.XenmemRemoveFromPhysmap, m.arg(f16(0, 7), f64(8, 0x700))), abi.OK)
	m.want("console ring", m.call(abi.HypercallMemoryOp, abi.XenmemRemoveFromPhysmap, m.arg(f16(0, 7), f64(8, DefaultConsoleGFN))), abi.OK)
	if err := m.d.Store().Write("/local/domain/7/data/x", "1"); err != nil {
		t.Fatal(err)
	}

	for range 2 {
		if err := m.d.Reset(); err != nil {
			t.Fatal(err)
		}
		if string(m.read(bufAt, 4)) != "kept" {
			t.Error("RAM was lost")
		}
		if m.d.events.Width() != abi.Width64 || m.d.shared.latched {
			t.Error("width is latched")
		}
		if m.plat.systime != fresh.plat.systime || m.plat.vectors != fresh.plat.vectors || m.plat.callback != (Callback{}) || m.plat.timer != fresh.plat.timer {
			t.Errorf("platform %+v", m.plat)
		}
		if m.d.params.value != fresh.d.params.value {
			t.Errorf("params %v, want %v", m.d.params.value, fresh.d.params.value)
		}
		if _, ok := m.d.sharedInfo.GFN(0); ok {
			t.Error("shared_info is mapped")
		}
		if gfn, ok := m.d.console.pages.GFN(0); !ok || gfn != DefaultConsoleGFN {
			t.Error("console ring is not mapped")
		}
		if m.d.grants.Frames() != 1 || m.d.runstateFlag.Load() || m.d.shutdownCode.Load() != noShutdownCode {
			t.Error("grants, assist or shutdown code are left")
		}
		if n := m.d.phys.current(); n != ramSize>>pageShift {
			t.Errorf("%d pages of RAM", n)
		}
		m.want("no watchdog", m.sched(abi.SchedopWatchdog, m.arg(f32(0, 1), f32(4, 0))), abi.EINVAL)
		if _, err := m.d.Store().Read("/local/domain/7/data/x"); err == nil {
			t.Error("the guest's store contents are left")
		}
		if v, err := m.d.Store().Read("/local/domain/7/store/port"); err != nil || v != "1" {
			t.Errorf("store port %q %v", v, err)
		}
		m.write(0x600<<pageShift, bytes.Repeat([]byte{0}, 64))
		// It can all be used again.
		m.mapShared(sharedGFN)
		m.want("vcpu_info", m.vcpuOp(abi.VCPUOpRegisterVCPUInfo, 1, m.arg(f64(0, 0x600))), abi.OK)
		m.want("virq", m.ev(abi.EvtchnopBindVIRQ, m.arg(f32(0, 0), f32(4, 0))), abi.OK)
	}
}
