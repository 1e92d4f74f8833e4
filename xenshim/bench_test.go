// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"testing"

	"xenvmm/xenshim/abi"
)

// hotCalls are the hypercalls on a guest's hot paths.
func hotCalls(t testing.TB) (*machine, map[string]func()) {
	m := newMachine(t, abi.Width64)
	m.mapShared(sharedGFN)
	port := m.ipi(1)
	send := m.argAt(argAt, f32(0, uint64(port)))
	shot := m.argAt(argAt+0x100, f64(0, 1<<60))
	var r Registers
	call := func(nr, a0, a1, a2 uint64) {
		r = Registers{RAX: nr, RDI: a0, RSI: a1, RDX: a2}
		m.out = m.v.Hypercall(&r, &m.s)
	}
	return m, map[string]func(){
		"evtchn_send":          func() { call(abi.HypercallEventChannelOp, abi.EvtchnopSend, send, 0) },
		"set_singleshot_timer": func() { call(abi.HypercallVCPUOp, abi.VCPUOpSetSingleshotTimer, 0, shot) },
		"stop_singleshot":      func() { call(abi.HypercallVCPUOp, abi.VCPUOpStopSingleshotTimer, 0, 0) },
		"set_timer_op":         func() { call(abi.HypercallSetTimerOp, 1<<40, 0, 0) },
		"sched_yield":          func() { call(abi.HypercallSchedOp, abi.SchedopYield, 0, 0) },
		"sched_block": func() {
			call(abi.HypercallSchedOp, abi.SchedopBlock, 0, 0)
			m.v.Entering()
		},
		"exit and entry": func() { m.v.Exited(); m.v.Entering() },
		"evtchn_unmask":  func() { call(abi.HypercallEventChannelOp, abi.EvtchnopUnmask, send, 0) },
	}
}

func BenchmarkHypercall(b *testing.B) {
	_, calls := hotCalls(b)
	for name, f := range calls {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
}

func BenchmarkTranslate(b *testing.B) {
	m := newMachine(b, abi.Width64)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := translate(m.mem, &m.s, argAt, true); !ok {
			b.Fatal("not mapped")
		}
	}
}
