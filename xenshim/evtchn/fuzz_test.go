// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"encoding/binary"
	"testing"

	"xenvmm/xenshim/abi"
)

// FuzzGuestOperations runs operations with arbitrary arguments. Nothing may
// panic, and the table must stay consistent.
func FuzzGuestOperations(f *testing.F) {
	step := func(op byte, a, b uint32) []byte {
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32([]byte{op}, a), b)
	}
	f.Add(append(append(step(0, 0x7ff0, 0x7ff0), step(1, 0x7ff0, 1)...), step(4, 2, 0)...))
	f.Add(append(append(step(2, 0, 1), step(9, 0, 1)...), step(3, 1, 0)...))
	f.Add(append(step(14, 0, 0), append(step(7, 35, 0), step(12, 35, 0x20008)...)...))
	f.Add(append(step(11, 0, 0), append(step(8, 1, 0), step(6, 1, 1)...)...))
	f.Fuzz(func(t *testing.T, script []byte) {
		g := newRig(t, 36, withPIRQs(4))
		for n := 0; len(script) >= 9 && n < 200; n++ {
			a, b := binary.LittleEndian.Uint32(script[1:]), binary.LittleEndian.Uint32(script[5:])
			switch op := script[0] % 18; op {
			case 0:
				g.AllocUnbound(abi.DomID(a), abi.DomID(b))
			case 1:
				g.BindInterdomain(g.r, int(int32(b)), abi.DomID(a), b)
			case 2:
				g.BindVIRQ(a, b)
			case 3:
				g.ClosePort(a)
			case 4:
				g.Send(g.r, a)
			case 5:
				g.Status(abi.DomID(a), b)
			case 6:
				g.BindVCPU(a, b)
			case 7:
				g.BindIPI(a)
			case 8:
				g.Unmask(g.r, int(int32(b)), a)
			case 9:
				g.RaiseVIRQ(g.r, a, int(int32(b)))
			case 10:
				g.BindPIRQ(a, b)
				g.RaisePIRQ(g.r, b)
			case 11:
				if h, err := g.BindHost(nil); err == nil {
					h.Notify(g.r)
				}
			case 12:
				g.RegisterVCPUInfo(g.r, int(int32(a)), uint64(b))
			case 13:
				g.PollStart(int(int32(a)), []uint32{b})
				g.AnyPending(g.r, []uint32{b, a})
				g.PollEnd(int(int32(a)))
			case 14:
				g.SetWidth(abi.Width(4 + a%2*4))
			case 15:
				g.Reset(g.r, abi.DomID(a))
			case 16:
				g.ConnectHost(a, nil)
			case 17:
				g.UnmapSharedInfo()
				g.MapSharedInfo(uint64(a), abi.Width64)
			}
			script = script[9:]
		}
		g.SetWidth(abi.Width64)
		consistent(t, g)
	})
}

// consistent checks what holds for a table in any state.
func consistent(t *testing.T, g *rig) {
	open := 0
	for port := range uint32(maxPorts) {
		st, e := g.Status(domain, port)
		want(t, "status", e, abi.OK)
		used := g.used[port/64]>>(port%64)&1 != 0
		if used != (st.State != abi.EvtchnStatClosed || port == 0) {
			t.Fatalf("port %d: state %d, marked used: %v", port, st.State, used)
		}
		if st.State == abi.EvtchnStatClosed {
			continue
		}
		open++
		switch st.State {
		case abi.EvtchnStatInterdomain:
			if st.Dom == domain {
				peer, _ := g.Status(domain, st.Port)
				if st.Port == port || peer.State != abi.EvtchnStatInterdomain || peer.Port != port || peer.Dom != domain {
					t.Fatalf("port %d: %+v, but its peer is %+v", port, st, peer)
				}
			} else {
				want(t, "host's peer", g.hosts[st.Port].Port(), port)
			}
		case abi.EvtchnStatVIRQ:
			v := st.VCPU
			if virqGlobal(st.VIRQ) {
				v = 0
			}
			want(t, "virq table", g.vcpus[v].virq[st.VIRQ].Load(), port)
		case abi.EvtchnStatPIRQ:
			want(t, "pirq table", g.pirqs[st.PIRQ].Load(), port)
		}
	}
	want(t, "open ports", g.Stats().Ports, open)
	want(t, "pollers", g.polls.n.Load(), 0)
}
