// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"bytes"
	"slices"
	"testing"

	"xenvmm/xenshim/abi"
)

// area is a decoded runstate structure.
type area struct {
	state uint32
	entry uint64
	time  [4]uint64
}

func decodeArea(p []byte, w abi.Width) area {
	l := abi.RunstateLayout(w)
	a := area{state: u32(p, l.State), entry: u64(p, l.EntryTime)}
	for i := range a.time {
		a.time[i] = u64(p, l.Time+8*uint32(i))
	}
	return a
}

func (m *machine) pass(ns uint64) { m.plat.locked(func() { m.plat.now += ns }) }

func TestRunstateAccounting(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		m.mapShared(sharedGFN) // latches the width of the area
		at := uint64(bufAt + 4096 - 20 + 1)
		n := int(abi.RunstateLayout(m.width).Size)
		m.write(at-1, bytes.Repeat([]byte{0xee}, n+2))
		m.want("register", m.vcpuOp(abi.VCPUOpRegisterRunstateMemoryArea, 0, m.arg(m.fw(0, at))), abi.OK)
		a := decodeArea(m.read(at, n), m.width)
		if a.state != abi.RunstateRunning || a.entry != m.plat.now {
			t.Errorf("at registration %+v", a)
		}
		m.pass(100)
		m.want("block", m.call(abi.HypercallSchedOp, abi.SchedopBlock, 0), abi.OK)
		a = decodeArea(m.read(at, n), m.width)
		if m.out.Kind != Block || a.state != abi.RunstateBlocked || a.time[0] != 100 || a.entry != m.plat.now {
			t.Errorf("blocked: outcome %v, %+v", m.out.Kind, a)
		}
		m.pass(1000)
		m.v.Entering()
		m.pass(7)
		m.v.Exited()
		m.v.Entering() // changes nothing
		a = decodeArea(m.read(at, n), m.width)
		if a.state != abi.RunstateRunning || a.time != [4]uint64{100, 0, 1000, 0} {
			t.Errorf("running again: %+v", a)
		}
		m.v.AddStolen(50)
		a = decodeArea(m.read(at, n), m.width)
		if a.time != [4]uint64{57, 50, 1000, 0} {
			t.Errorf("stolen: %+v", a)
		}
		var sum uint64
		for _, x := range a.time {
			sum += x
		}
		if sum != m.plat.now-1_000_000 {
			t.Errorf("times add up to %d", sum)
		}
		if m.read(at-1, 1)[0] != 0xee || m.read(at+uint64(n), 1)[0] != 0xee {
			t.Error("wrote beyond the area")
		}
		m.pass(3)
		m.want("get", m.vcpuOp(abi.VCPUOpGetRunstateInfo, 0, bufAt+0x5000), abi.OK)
		if got := decodeArea(m.read(bufAt+0x5000, n), m.width); got.time != [4]uint64{60, 50, 1000, 0} {
			t.Errorf("get_runstate_info: %+v", got)
		}
		m.want("get another's", m.vcpuOp(abi.VCPUOpGetRunstateInfo, 2, bufAt+0x5000), abi.OK)
		if got := decodeArea(m.read(bufAt+0x5000, n), m.width); got.state != abi.RunstateOffline || got.time[3] != m.plat.now-1_000_000 {
			t.Errorf("offline vCPU: %+v", got)
		}
		m.want("get to nowhere", m.vcpuOp(abi.VCPUOpGetRunstateInfo, 0, unmapped), abi.EFAULT)

		m.want("take away", m.vcpuOp(abi.VCPUOpRegisterRunstateMemoryArea, 0, m.arg(m.fw(0, 0))), abi.OK)
		before := m.read(at, n)
		m.v.AddStolen(1)
		if !bytes.Equal(before, m.read(at, n)) {
			t.Error("an area taken away was written")
		}
		m.want("area unmapped", m.vcpuOp(abi.VCPUOpRegisterRunstateMemoryArea, 0, m.arg(m.fw(0, unmapped))), abi.OK)
		m.want("area at the end", m.vcpuOp(abi.VCPUOpRegisterRunstateMemoryArea, 0, m.arg(m.fw(0, ^uint64(0)))), abi.OK)
		m.want("area runs out of RAM", m.vcpuOp(abi.VCPUOpRegisterRunstateMemoryArea, 0, m.arg(m.fw(0, ramSize-8))), abi.OK)
		m.v.AddStolen(1)
		m.want("argument unmapped", m.vcpuOp(abi.VCPUOpRegisterRunstateMemoryArea, 0, unmapped), abi.EFAULT)
	})
}

func TestRunstatePhysArea(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		m.mapShared(sharedGFN)
		n := uint64(abi.RunstateLayout(m.width).Size)
		reg := func(gpa uint64) int64 {
			return m.vcpuOp(abi.VCPUOpRegisterRunstatePhysArea, 0, m.arg(f64(0, gpa)))
		}
		m.want("end of a page", reg(bufAt+4096-n), abi.OK)
		m.want("crosses a page", reg(bufAt+4096-n+uint64(m.width)), abi.ENXIO)
		m.want("misaligned", reg(bufAt+1), abi.ENXIO)
		m.want("no memory", reg(unmapped), abi.EINVAL)
		m.want("too high", reg(1<<60), abi.EINVAL)
		m.pass(9)
		m.v.AddStolen(4)
		if a := decodeArea(m.read(bufAt+4096-n, int(n)), m.width); a.time[1] != 4 {
			t.Errorf("area %+v", a)
		}
		m.want("unmap", reg(^uint64(0)), abi.OK)
		m.v.AddStolen(1)
		if a := decodeArea(m.read(bufAt+4096-n, int(n)), m.width); a.time[1] != 4 {
			t.Errorf("after unmap: %+v", a)
		}
		m.want("argument unmapped", m.vcpuOp(abi.VCPUOpRegisterRunstatePhysArea, 0, unmapped), abi.EFAULT)
	})
}

// Every write to the area is noted with the flag as a reader sees it then.
func TestRunstateUpdateFlag(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		m.mapShared(sharedGFN)
		m.want("enable", m.call(abi.HypercallVMAssist, abi.VMAssistCmdEnable, abi.VMAssistRunstateUpdateFlag), abi.OK)
		l := abi.RunstateLayout(m.width)
		// The area begins before a page boundary, at every distance.
		for before := range uint64(l.Size) {
			at := uint64(bufAt) + pageSize - before
			m.want("register", m.vcpuOp(abi.VCPUOpRegisterRunstateMemoryArea, 0, m.arg(m.fw(0, at))), abi.OK)
			old := decodeArea(m.read(at, int(l.Size)), m.width)
			var flags []bool // after each write
			mark := func(gpa uint64) {
				if gpa < at || gpa >= at+uint64(l.Size) {
					return // a ring's
				}
				a := decodeArea(m.read(at, int(l.Size)), m.width)
				flags = append(flags, a.entry&abi.RunstateUpdateFlag != 0)
			}
			m.mem.onDirty.Store(&mark)
			m.pass(5)
			m.v.AddStolen(1)
			m.mem.onDirty.Store(nil)
			want := []bool{true, true, false}
			if before > 0 {
				want = []bool{true, true, true, false} // the account is one write for each page
			}
			if !slices.Equal(flags, want) {
				t.Errorf("%d bytes before the boundary: flag %v after each write, want %v", before, flags, want)
			}
			if got := decodeArea(m.read(at, int(l.Size)), m.width); got.entry != m.plat.now || got.time[1] != old.time[1]+1 {
				t.Errorf("%d bytes before the boundary: %+v after %+v", before, got, old)
			}
		}
	})
}
