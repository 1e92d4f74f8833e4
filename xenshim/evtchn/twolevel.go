// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// twoLevel is the 2-level ABI for one width: bitmaps of pending and masked ports
// in shared_info, and in each vcpu_info a selector with one bit per word of
// those bitmaps. Bitmaps are arrays of guest words; in little-endian memory the
// aligned 32-bit word port/32 holds the port's bit at either width.
type twoLevel struct {
	layout abi.SharedInfoLayout
	shared *gpc.Cache
	vcpus  []vcpu
}

func newTwoLevel(t *Table, w abi.Width) *twoLevel {
	return &twoLevel{layout: abi.Layout(w), shared: t.shared, vcpus: t.vcpus}
}

// bit is the place of bit n of a bitmap that begins at byte offset base.
func bit(base, n uint32) gpc.Bit {
	return gpc.Bit{Off: base + n/32*4, Bit: uint8(n % 32)}
}

func (l *twoLevel) ports() uint32 { return l.layout.Ports }

func (l *twoLevel) prepare(e *entry) {
	if e.usable = e.port < l.layout.Ports; !e.usable {
		return
	}
	e.signal = gpc.Signal{
		Shared:  l.shared,
		Pending: bit(l.layout.EvtchnPending, e.port),
		Mask:    bit(l.layout.EvtchnMask, e.port),
		VCPU:    l.vcpus[e.vcpu].info,
		Sel:     bit(l.layout.VCPUPendingSel, e.port/l.layout.Width.Bits()),
		Upcall:  abi.VCPUInfoUpcallPending,
	}
}

func (l *twoLevel) raise(r *gpc.Reader, e *entry) gpc.Result  { return r.Deliver(&e.signal) }
func (l *twoLevel) settle(r *gpc.Reader, e *entry) gpc.Result { return r.Resume(&e.signal) }
func (l *twoLevel) resume(r *gpc.Reader, e *entry) gpc.Result { return r.Raise(&e.signal) }
func (l *twoLevel) unmask(r *gpc.Reader, e *entry) gpc.Result { return r.Unmask(&e.signal) }

func (l *twoLevel) clear(r *gpc.Reader, port uint32) (ok bool) {
	if port >= l.layout.Ports {
		return true
	}
	b := bit(l.layout.EvtchnPending, port)
	_, ok = r.And32(l.shared, b.Off, ^(uint32(1) << b.Bit))
	return ok
}

func (l *twoLevel) pending(r *gpc.Reader, port uint32) (set, ok bool) {
	b := bit(l.layout.EvtchnPending, port)
	word, ok := r.Load32(l.shared, b.Off)
	return word>>b.Bit&1 != 0, ok
}

// mark sets the whole selector before evtchn_upcall_pending, in the order of a
// delivery.
func (l *twoLevel) mark(r *gpc.Reader, vcpu int) (ok bool) {
	info := l.vcpus[vcpu].info
	for off := l.layout.VCPUPendingSel; off < l.layout.VCPUPendingSel+uint32(l.layout.Width); off += 4 {
		if _, ok := r.Or32(info, off, ^uint32(0)); !ok {
			return false
		}
	}
	_, ok = r.Xchg8(info, abi.VCPUInfoUpcallPending, 1)
	return ok
}

func (l *twoLevel) refreshPort(uint32) error   { return l.shared.Refresh() }
func (l *twoLevel) refreshVCPU(vcpu int) error { return l.vcpus[vcpu].info.Refresh() }
