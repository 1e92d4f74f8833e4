// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"testing"
	"time"

	"xenvmm/xenshim/abi"
)

func (m *machine) sched(cmd, ptr uint64) int64 {
	m.t.Helper()
	return m.call(abi.HypercallSchedOp, cmd, ptr)
}

func TestSchedOp(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		m.want("yield", m.sched(abi.SchedopYield, unmapped), abi.OK)
		if m.out.Kind != Yield {
			t.Errorf("outcome %v", m.out.Kind)
		}
		for _, reason := range []uint64{0, 1, 3, 4, 5} {
			m.plat.shutdowns = nil
			m.want("shutdown", m.sched(abi.SchedopShutdown, m.arg(f32(0, reason))), abi.OK)
			if m.out.Kind != Shutdown || len(m.plat.shutdowns) != 1 || m.plat.shutdowns[0] != uint32(reason) {
				t.Errorf("reason %d: outcome %v, %v", reason, m.out.Kind, m.plat.shutdowns)
			}
		}
		m.plat.shutdowns = nil
		m.wantN("suspend is cancelled", m.sched(abi.SchedopShutdown, m.arg(f32(0, abi.ShutdownSuspend))), 1)
		if m.out.Kind != Resume || m.plat.shutdowns != nil {
			t.Errorf("suspend: outcome %v, %v", m.out.Kind, m.plat.shutdowns)
		}
		m.want("shutdown code", m.sched(abi.SchedopShutdownCode, m.arg(f32(0, abi.ShutdownCrash))), abi.OK)
		m.want("poweroff", m.sched(abi.SchedopShutdown, m.arg(f32(0, abi.ShutdownPoweroff))), abi.OK)
		if m.plat.shutdowns[0] != abi.ShutdownCrash {
			t.Errorf("with a code set: %v", m.plat.shutdowns)
		}
		for _, cmd := range []uint64{abi.SchedopShutdown, abi.SchedopPoll, abi.SchedopRemoteShutdown, abi.SchedopShutdownCode, abi.SchedopWatchdog} {
			m.want("unmapped", m.sched(cmd, unmapped), abi.EFAULT)
		}
		m.want("remote, self", m.sched(abi.SchedopRemoteShutdown, m.arg(f16(0, uint64(abi.DomIDSelf)))), abi.ESRCH)
		m.want("remote, own id", m.sched(abi.SchedopRemoteShutdown, m.arg(f16(0, 7))), abi.EPERM)
		m.want("remote, control domain", m.sched(abi.SchedopRemoteShutdown, m.arg(f16(0, 0))), abi.EPERM)
		m.want("remote, unknown", m.sched(abi.SchedopRemoteShutdown, m.arg(f16(0, 8))), abi.ESRCH)
		m.want("pin_override", m.sched(abi.SchedopPinOverride, argAt), abi.EPERM)
		m.want("unknown", m.sched(8, argAt), abi.ENOSYS)
	})
}

// pollArg writes struct sched_poll.
func (m *machine) pollArg(ports, n, timeout uint64) uint64 {
	l := abi.SchedPollLayout(m.width)
	return m.arg(m.fw(l.Ports, ports), f32(l.NrPorts, n), f64(l.Timeout, timeout))
}

func (m *machine) unbound() uint32 {
	m.want("alloc_unbound", m.call(abi.HypercallEventChannelOp, abi.EvtchnopAllocUnbound,
		m.argAt(argAt+0x800, f16(0, uint64(abi.DomIDSelf)), f16(2, uint64(abi.DomIDSelf)))), abi.OK)
	return m.r32(argAt + 0x804)
}

func (m *machine) ipi(vcpu uint64) uint32 {
	m.want("bind_ipi", m.call(abi.HypercallEventChannelOp, abi.EvtchnopBindIPI, m.argAt(argAt+0x800, f32(0, vcpu))), abi.OK)
	return m.r32(argAt + 0x804)
}

func (m *machine) sendPort(port uint32) int64 {
	return m.call(abi.HypercallEventChannelOp, abi.EvtchnopSend, m.argAt(argAt+0x800, f32(0, uint64(port))))
}

func TestPoll(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		m.mapShared(sharedGFN)
		a, b := m.ipi(0), m.ipi(0)
		var ports [8]byte
		putU32(ports[:], 0, a)
		putU32(ports[:], 4, b)
		m.write(bufAt, ports[:])

		m.want("nothing pending", m.sched(abi.SchedopPoll, m.pollArg(bufAt, 2, m.plat.now+500)), abi.OK)
		if m.out.Kind != Poll || m.out.Deadline != m.plat.now+500 {
			t.Errorf("outcome %+v", m.out)
		}
		m.want("event while it waits", m.callOn(m.d.VCPU(1), abi.HypercallEventChannelOp, abi.EvtchnopSend, m.argAt(argAt+0x900, f32(0, uint64(b)))), abi.OK)
		if m.plat.woken[0] != 1 {
			t.Errorf("woken %d times", m.plat.woken[0])
		}
		m.v.PollDone()
		m.want("pending", m.sched(abi.SchedopPoll, m.pollArg(bufAt, 2, 0)), abi.OK)
		if m.out.Kind != Resume {
			t.Errorf("outcome %+v", m.out)
		}
		m.want("not the one that is pending", m.sched(abi.SchedopPoll, m.pollArg(bufAt, 1, 0)), abi.OK)
		if m.out.Kind != Poll || m.out.Deadline != 0 {
			t.Errorf("outcome %+v", m.out)
		}
		m.v.PollDone()
		m.s.RFLAGS |= rflagsIF
		m.want("an upcall is due", m.sched(abi.SchedopPoll, m.pollArg(bufAt, 1, 0)), abi.OK)
		if m.out.Kind != Resume {
			t.Errorf("outcome %+v", m.out)
		}
		m.s.RFLAGS = 0
		m.want("time has come", m.sched(abi.SchedopPoll, m.pollArg(bufAt, 1, m.plat.now)), abi.OK)
		if m.out.Kind != Resume {
			t.Errorf("outcome %+v", m.out)
		}
		m.want("no ports", m.sched(abi.SchedopPoll, m.pollArg(unmapped, 0, m.plat.now+1)), abi.OK)
		if m.out.Kind != Poll {
			t.Errorf("outcome %+v", m.out)
		}
		m.v.PollDone()

		m.want("129 ports", m.sched(abi.SchedopPoll, m.pollArg(bufAt, 129, 0)), abi.EINVAL)
		m.want("absurd", m.sched(abi.SchedopPoll, m.pollArg(bufAt, 0xffff_ffff, 0)), abi.EINVAL)
		putU32(ports[:], 0, 4096)
		m.write(bufAt, ports[:])
		m.want("no such port", m.sched(abi.SchedopPoll, m.pollArg(bufAt, 1, 0)), abi.EINVAL)
		before := m.plat.woken[0]
		for range 1000 {
			m.want("list unmapped", m.sched(abi.SchedopPoll, m.pollArg(unmapped, 2, 0)), abi.EFAULT)
		}
		m.sendPort(a)
		if m.plat.woken[0] != before {
			t.Error("a poll that failed left the vCPU registered")
		}
	})
}

func TestPollInMulticallIsNotLeftBehind(t *testing.T) {
	m := newMachine(t, abi.Width64)
	m.mapShared(sharedGFN)
	port := m.ipi(0)
	m.pollArg(unmapped, 0, 0)
	m.words(0, abi.HypercallSchedOp, 0, abi.SchedopPoll, argAt, 0, 0, 0, 0)
	m.words(64, abi.HypercallVCPUOp, 0, abi.VCPUOpDown, 0)
	m.plat.up[1] = true
	m.want("multicall", m.call(abi.HypercallMulticall, bufAt, 2), abi.OK)
	if m.out.Kind != Offline {
		t.Errorf("outcome %+v", m.out)
	}
	m.sendPort(port)
	if m.plat.woken[0] != 0 {
		t.Error("still registered as a poller")
	}
}

func TestBlockReturnsIfAnEventIsPending(t *testing.T) {
	m := newMachine(t, abi.Width64)
	m.mapShared(sharedGFN)
	m.want("block", m.sched(abi.SchedopBlock, 0), abi.OK)
	if m.out.Kind != Block {
		t.Errorf("outcome %v", m.out.Kind)
	}
	m.v.Entering()
	m.sendPort(m.ipi(0))
	m.want("block", m.sched(abi.SchedopBlock, 0), abi.OK)
	if m.out.Kind != Resume {
		t.Errorf("outcome %v with an event pending", m.out.Kind)
	}
}

// fakeTimer stands for time.AfterFunc.
type fakeTimer struct {
	d       time.Duration
	f       func()
	stopped bool
}

func (f *fakeTimer) Stop() bool { f.stopped = true; return true }

func TestWatchdog(t *testing.T) {
	m := newMachine(t, abi.Width64)
	var timers []*fakeTimer
	m.d.watchdogs.after = func(d time.Duration, f func()) stopper {
		x := &fakeTimer{d: d, f: f}
		timers = append(timers, x)
		return x
	}
	set := func(id, timeout uint64) int64 {
		return m.sched(abi.SchedopWatchdog, m.arg(f32(0, id), f32(4, timeout)))
	}
	m.want("none yet", set(1, 10), abi.EINVAL)
	m.wantN("first", set(0, 10), 1)
	m.wantN("second", set(0, 20), 2)
	m.want("no third", set(0, 20), abi.ENOSPC)
	m.want("no such id", set(3, 1), abi.EINVAL)
	m.want("absurd id", set(0xffff_ffff, 1), abi.EINVAL)
	m.want("pet", set(1, 0xffff_ffff), abi.OK)
	if !timers[0].stopped || timers[2].d != 0xffff_ffff*time.Second {
		t.Errorf("timers %+v", timers)
	}
	timers[0].f() // late: was stopped
	timers[1].f() // the host's time has come, the guest's has not
	if len(m.plat.shutdowns) != 0 || len(timers) != 4 || timers[3].d != 20*time.Second {
		t.Errorf("shutdowns %v, %d timers", m.plat.shutdowns, len(timers))
	}
	m.pass(20e9 - 1)
	timers[3].f()
	if timers[4].d < watchdogGrain {
		t.Errorf("looks again after %v", timers[4].d)
	}
	m.pass(1)
	timers[4].f()
	if len(m.plat.shutdowns) != 1 || m.plat.shutdowns[0] != abi.ShutdownWatchdog {
		t.Errorf("shutdowns %v", m.plat.shutdowns)
	}
	m.want("stop", set(1, 0), abi.OK)
	m.want("stop again", set(1, 0), abi.EINVAL)
	timers[2].f()
	if len(m.plat.shutdowns) != 1 {
		t.Errorf("a stopped watchdog ran out: %v", m.plat.shutdowns)
	}
}
