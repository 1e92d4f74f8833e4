// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"xenvmm/xenshim/abi"
)

// model is event channels written for clarity: maps and loops, one thread, ports
// below modelPorts.
type model struct {
	ports   map[uint32]*modelPort
	hosts   map[uint32]uint32 // host number -> guest port or 0
	mapped  bool
	pending map[uint32]bool
	masked  map[uint32]bool
	sel     [modelVCPUs][64]bool
	upcall  [modelVCPUs]bool
	calls   [modelVCPUs]int64

	latched, unmasks, dirty map[uint32]bool // while not mapped
}

type modelPort struct {
	state uint32
	vcpu  int
	dom   abi.DomID
	peer  uint32
	virq  uint32
}

const (
	modelVCPUs = 3
	modelPorts = 200
)

func newModel() *model {
	return &model{
		ports: map[uint32]*modelPort{}, hosts: map[uint32]uint32{}, mapped: true,
		pending: map[uint32]bool{}, masked: map[uint32]bool{},
		latched: map[uint32]bool{}, unmasks: map[uint32]bool{}, dirty: map[uint32]bool{},
	}
}

func (m *model) open(p modelPort) uint32 {
	for n := uint32(1); ; n++ {
		if m.ports[n] == nil && !m.dirty[n] {
			m.ports[n] = &p
			return n
		}
	}
}

func (m *model) tell(port uint32) {
	v := m.ports[port].vcpu
	if m.sel[v][port/64] {
		return
	}
	m.sel[v][port/64] = true
	if !m.upcall[v] {
		m.upcall[v] = true
		m.calls[v]++
	}
}

func (m *model) raise(port uint32) {
	switch {
	case !m.mapped:
		m.latched[port] = true
	case !m.pending[port]:
		m.pending[port] = true
		if !m.masked[port] {
			m.tell(port)
		}
	}
}

func (m *model) unmask(port uint32) abi.Errno {
	switch {
	case port >= abi.EvtchnPorts64:
		return abi.EINVAL
	case m.ports[port] == nil:
	case !m.mapped:
		m.unmasks[port] = true
	case m.masked[port]:
		m.masked[port] = false
		if m.pending[port] {
			m.tell(port)
		}
	}
	return abi.OK
}

func (m *model) bind(dom abi.DomID, rport uint32) (uint32, abi.Errno) {
	switch dom {
	case domain, self:
		r := m.ports[rport]
		if r == nil || r.state != abi.EvtchnStatUnbound || r.dom != domain {
			return 0, abi.EINVAL
		}
		p := m.open(modelPort{state: abi.EvtchnStatInterdomain, dom: domain, peer: rport})
		*r = modelPort{state: abi.EvtchnStatInterdomain, vcpu: r.vcpu, dom: domain, peer: p}
		m.raise(p)
		return p, abi.OK
	case 0:
		if at, ok := m.hosts[rport]; !ok || at != 0 {
			return 0, abi.EINVAL
		}
		p := m.open(modelPort{state: abi.EvtchnStatInterdomain, peer: rport})
		m.hosts[rport] = p
		m.raise(p)
		return p, abi.OK
	}
	return 0, abi.ESRCH
}

func (m *model) virq(virq, vcpu uint32) (uint32, abi.Errno) {
	global := !slices.Contains([]uint32{0, 1, 7, 13}, virq)
	switch {
	case virq >= 24, global && vcpu != 0:
		return 0, abi.EINVAL
	case vcpu >= modelVCPUs:
		return 0, abi.ENOENT
	}
	for _, p := range m.ports {
		if p.state == abi.EvtchnStatVIRQ && p.virq == virq && (global || p.vcpu == int(vcpu)) {
			return 0, abi.EEXIST
		}
	}
	return m.open(modelPort{state: abi.EvtchnStatVIRQ, vcpu: int(vcpu), virq: virq}), abi.OK
}

func (m *model) close(port uint32) abi.Errno {
	p := m.ports[port]
	if p == nil {
		return abi.EINVAL
	}
	if p.state == abi.EvtchnStatInterdomain {
		if p.dom == 0 {
			m.hosts[p.peer] = 0
		} else {
			peer := m.ports[p.peer]
			*peer = modelPort{state: abi.EvtchnStatUnbound, vcpu: peer.vcpu, dom: domain}
		}
	}
	delete(m.ports, port)
	delete(m.latched, port)
	delete(m.unmasks, port)
	if m.mapped {
		m.pending[port] = false
	} else {
		m.dirty[port] = true
	}
	return abi.OK
}

func (m *model) send(port uint32) abi.Errno {
	p := m.ports[port]
	if p == nil {
		return abi.EINVAL
	}
	switch p.state {
	case abi.EvtchnStatIPI:
		m.raise(port)
	case abi.EvtchnStatInterdomain:
		if p.dom == domain {
			m.raise(p.peer)
		}
	case abi.EvtchnStatUnbound:
	default:
		return abi.EINVAL
	}
	return abi.OK
}

func (m *model) bindVCPU(port, vcpu uint32) abi.Errno {
	p := m.ports[port]
	switch {
	case vcpu >= modelVCPUs:
		return abi.ENOENT
	case p == nil, p.state == abi.EvtchnStatIPI:
		return abi.EINVAL
	case p.state == abi.EvtchnStatVIRQ && slices.Contains([]uint32{0, 1, 7, 13}, p.virq):
		return abi.EINVAL
	}
	p.vcpu = int(vcpu)
	return abi.OK
}

func (m *model) remap() {
	m.mapped = true
	for p := range m.dirty {
		m.pending[p] = false
	}
	for p := range m.unmasks {
		m.unmask(p)
	}
	for p := range m.latched {
		m.raise(p)
	}
	clear(m.dirty)
	clear(m.unmasks)
	clear(m.latched)
}

func TestPortsMatchASlowModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newRig(t, modelVCPUs)
		m := newModel()
		hosts := map[uint32]*HostPort{}
		port := func(t *rapid.T) uint32 {
			return rapid.OneOf(rapid.Uint32Range(0, 12), rapid.SampledFrom([]uint32{63, 64, 4095, 4096, 1 << 31})).Draw(t, "port")
		}
		vcpu := func(t *rapid.T) uint32 { return rapid.Uint32Range(0, modelVCPUs).Draw(t, "vcpu") }
		dom := func(t *rapid.T) abi.DomID {
			return rapid.SampledFrom([]abi.DomID{self, domain, 0, other}).Draw(t, "dom")
		}
		same := func(t *rapid.T, gp uint32, ge abi.Errno, mp uint32, me abi.Errno) {
			t.Helper()
			if ge != me || gp != mp {
				t.Fatalf("got port %d %v, model says %d %v", gp, ge, mp, me)
			}
		}
		small := func(t *rapid.T) {
			if len(m.ports)+len(m.dirty) > modelPorts/2 {
				t.Skip("enough ports")
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"alloc": func(t *rapid.T) {
				small(t)
				d, r := dom(t), dom(t)
				gp, ge := g.AllocUnbound(d, r)
				if r == self {
					r = domain
				}
				switch d {
				case self, domain:
					same(t, gp, ge, m.open(modelPort{state: abi.EvtchnStatUnbound, dom: r}), abi.OK)
				case 0:
					same(t, gp, ge, 0, abi.EPERM)
				default:
					same(t, gp, ge, 0, abi.ESRCH)
				}
			},
			"bind": func(t *rapid.T) {
				small(t)
				d, p := dom(t), port(t)
				gp, ge := g.BindInterdomain(g.r, 0, d, p)
				mp, me := m.bind(d, p)
				same(t, gp, ge, mp, me)
			},
			"virq": func(t *rapid.T) {
				q, v := rapid.Uint32Range(0, 25).Draw(t, "virq"), vcpu(t)
				gp, ge := g.BindVIRQ(q, v)
				mp, me := m.virq(q, v)
				same(t, gp, ge, mp, me)
			},
			"ipi": func(t *rapid.T) {
				small(t)
				v := vcpu(t)
				gp, ge := g.BindIPI(v)
				if v >= modelVCPUs {
					same(t, gp, ge, 0, abi.ENOENT)
					return
				}
				same(t, gp, ge, m.open(modelPort{state: abi.EvtchnStatIPI, vcpu: int(v)}), abi.OK)
			},
			"close": func(t *rapid.T) { p := port(t); same(t, 0, g.ClosePort(p), 0, m.close(p)) },
			"send":  func(t *rapid.T) { p := port(t); same(t, 0, g.Send(g.r, p), 0, m.send(p)) },
			"bind_vcpu": func(t *rapid.T) {
				p, v := port(t), vcpu(t)
				same(t, 0, g.BindVCPU(p, v), 0, m.bindVCPU(p, v))
			},
			"unmask": func(t *rapid.T) { p := port(t); same(t, 0, g.Unmask(g.r, 0, p), 0, m.unmask(p)) },
			"mask": func(t *rapid.T) {
				p := port(t) % 64
				g.mask(p)
				m.masked[p] = true
			},
			"raise virq": func(t *rapid.T) {
				q, v := rapid.Uint32Range(0, 25).Draw(t, "virq"), int(vcpu(t))
				g.RaiseVIRQ(g.r, q, v)
				for n, p := range m.ports {
					if p.state == abi.EvtchnStatVIRQ && p.virq == q && (virqGlobal(q) || p.vcpu == v) {
						m.raise(n)
					}
				}
			},
			"host": func(t *rapid.T) {
				small(t)
				h, err := g.BindHost(nil)
				if err != nil {
					t.Fatal(err)
				}
				hosts[h.Number()] = h
				p := m.open(modelPort{state: abi.EvtchnStatInterdomain, peer: h.Number()})
				m.hosts[h.Number()] = p
				same(t, h.Port(), 0, p, 0)
			},
			"connect": func(t *rapid.T) {
				p := port(t)
				h, err := g.ConnectHost(p, nil)
				mp := m.ports[p]
				if good := mp != nil && mp.state == abi.EvtchnStatUnbound && mp.dom == 0; good != (err == nil) {
					t.Fatalf("connect %d: %v, model says %v", p, err, good)
				} else if good {
					hosts[h.Number()] = h
					m.hosts[h.Number()] = p
					*mp = modelPort{state: abi.EvtchnStatInterdomain, vcpu: mp.vcpu, peer: h.Number()}
				}
			},
			"notify": func(t *rapid.T) {
				for _, h := range hosts {
					h.Notify(g.r)
					if p := m.hosts[h.Number()]; p != 0 {
						m.raise(p)
					}
				}
			},
			"close host": func(t *rapid.T) {
				n := rapid.Uint32Range(1, 3).Draw(t, "number")
				if h := hosts[n]; h != nil {
					h.Close()
					if p := m.hosts[n]; p != 0 {
						*m.ports[p] = modelPort{state: abi.EvtchnStatUnbound, vcpu: m.ports[p].vcpu}
					}
					delete(hosts, n)
					delete(m.hosts, n)
				}
			},
			"reset": func(t *rapid.T) {
				if rapid.IntRange(0, 5).Draw(t, "rarely") == 0 {
					g.Reset(g.r, self)
					for p := range uint32(abi.EvtchnPorts64) {
						m.close(p)
					}
				}
			},
			"guest takes": func(t *rapid.T) {
				p := port(t) % 64
				g.takePending(p)
				m.pending[p] = false
			},
			"guest acks": func(t *rapid.T) {
				v := int(vcpu(t)) % modelVCPUs
				g.ack(v)
				m.upcall[v], m.sel[v] = false, [64]bool{}
			},
			"invalidate": func(t *rapid.T) { g.mem.rehome(sharedGFN) },
			"unmap": func(t *rapid.T) {
				g.UnmapSharedInfo()
				m.mapped = false
			},
			"map": func(t *rapid.T) {
				if err := g.MapSharedInfo(sharedAt, abi.Width64); err != nil {
					t.Fatal(err)
				}
				m.remap()
			},
			"": func(t *rapid.T) { compare(t, g, m) },
		})
	})
}

func compare(t *rapid.T, g *rig, m *model) {
	if got := g.Stats().Ports; got != len(m.ports) {
		t.Fatalf("%d ports open, model has %d", got, len(m.ports))
	}
	for p := range uint32(modelPorts) {
		st, e := g.Status(domain, p)
		var wanted Status
		if mp := m.ports[p]; mp != nil {
			wanted = Status{State: mp.state, VCPU: uint32(mp.vcpu), Dom: mp.dom, Port: mp.peer, VIRQ: mp.virq}
		}
		if e != abi.OK || st != wanted {
			t.Fatalf("port %d: status %+v %v, model has %+v", p, st, e, wanted)
		}
		if g.isPending(p) != m.pending[p] || g.isMasked(p) != m.masked[p] {
			t.Fatalf("port %d: pending %v masked %v, model has %v %v", p, g.isPending(p), g.isMasked(p), m.pending[p], m.masked[p])
		}
	}
	for v := range modelVCPUs {
		if g.upcall(v) != m.upcall[v] || g.upcalls[v].Load() != m.calls[v] {
			t.Fatalf("vCPU %d: upcall %v, %d calls, model has %v %d", v, g.upcall(v), g.upcalls[v].Load(), m.upcall[v], m.calls[v])
		}
		for w := range uint32(64) {
			if g.sel(v, w*64) != m.sel[v][w] {
				t.Fatalf("vCPU %d: selector bit %d is %v", v, w, g.sel(v, w*64))
			}
		}
	}
}
