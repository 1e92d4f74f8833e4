// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"testing"

	"xenvmm/xenshim/abi"
)

func TestMulticall(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		l := abi.MulticallLayout(m.width)
		entry := func(i, op uint64, a ...uint64) {
			m.words(i*uint64(l.Size), append([]uint64{op, 0x5555}, a...)...)
		}
		result := func(i uint64) int64 {
			at := bufAt + i*uint64(l.Size) + uint64(l.Result)
			if m.width == abi.Width32 {
				return int64(int32(m.r32(at)))
			}
			return int64(m.r64(at))
		}
		entry(0, abi.HypercallXenVersion, abi.XenverVersion)
		entry(1, abi.HypercallMulticall, bufAt, 1)
		entry(2, 999)
		entry(3, abi.HypercallSchedOp, abi.SchedopYield)
		entry(4, abi.HypercallXenVersion, abi.XenverPageSize, 0)
		m.want("multicall", m.call(abi.HypercallMulticall, bufAt, 5), abi.OK)
		for i, want := range []int64{0x40011, errno(abi.EINVAL), errno(abi.ENOSYS), 0, 4096} {
			m.wantN("entry", result(uint64(i)), want)
		}
		if m.out.Kind != Yield {
			t.Errorf("outcome %v", m.out.Kind)
		}
		m.want("none", m.call(abi.HypercallMulticall, unmapped, 0), abi.OK)
		m.want("unmapped", m.call(abi.HypercallMulticall, unmapped, 1), abi.EFAULT)
		m.want("last entry beyond RAM", m.call(abi.HypercallMulticall, ramSize-uint64(l.Size), 2), abi.EFAULT)
		m.want("too many", m.call(abi.HypercallMulticall, bufAt, multicallMax+1), abi.E2BIG)
		m.want("absurd", m.call(abi.HypercallMulticall, bufAt, 0xffff_ffff), abi.E2BIG)

		// A shutdown ends the list; a poll followed by another outcome does not
		// leave the vCPU registered.
		m.words(0x3000, 0)
		entry(0, abi.HypercallSchedOp, abi.SchedopShutdown, bufAt+0x3000)
		entry(1, abi.HypercallXenVersion, abi.XenverVersion)
		m.want("shutdown", m.call(abi.HypercallMulticall, bufAt, 2), abi.OK)
		if m.out.Kind != Shutdown || result(1) != 0x5555 {
			t.Errorf("after a shutdown: outcome %v, next result %#x", m.out.Kind, result(1))
		}
	})
}

func TestMulticallOnlyEntriesMayNotNest(t *testing.T) {
	m := newMachine(t, abi.Width64)
	m.words(0, abi.HypercallMulticall, 0, bufAt, 1)
	m.want("outer", m.call(abi.HypercallMulticall, bufAt, 1), abi.OK)
	m.want("again: the mark was taken back", m.call(abi.HypercallMulticall, bufAt, 1), abi.OK)
}

func TestMulticallSharesTheBudget(t *testing.T) {
	m := newMachine(t, abi.Width64)
	l := abi.AddToPhysmapLayout(abi.Width64)
	m.arg(f16(l.DomID, uint64(abi.DomIDSelf)), f32(l.Space, 1), f64(l.GPFN, 0x400))
	for i := range uint64(multicallMax) {
		m.words(i*64, abi.HypercallMemoryOp, 0, abi.XenmemAddToPhysmap, argAt)
	}
	m.want("multicall", m.call(abi.HypercallMulticall, bufAt, multicallMax), abi.OK)
	if got := int64(m.r64(bufAt + 8)); got != 0 {
		t.Errorf("first: %d", got)
	}
	if got := int64(m.r64(bufAt + (multicallMax-1)*64 + 8)); got != errno(abi.EAGAIN) {
		t.Errorf("last: %d", got)
	}
}
