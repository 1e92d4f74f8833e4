// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"testing"

	"xenvmm/xenshim/abi"
)

func TestEventStateIsWhatGuestMemorySays(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		if s := m.d.EventState(); s.SharedInfo || s.VCPUs[0].Present {
			t.Errorf("before shared_info is mapped: %+v", s)
		}
		m.mapShared(sharedGFN)
		port := m.ipi(0)
		m.want("send", m.sendPort(port), abi.OK)
		s := m.d.EventState()
		if !s.SharedInfo || s.SharedInfoGPA != sharedGFN<<pageShift || len(s.Ports) != 1 || s.More != 0 {
			t.Fatalf("one port pending: %+v", s)
		}
		if w := s.Ports[0]; w.First != 0 || w.Pending != 1<<port || w.Mask != 0 {
			t.Errorf("port %d pending: %+v", port, w)
		}
		if v := s.VCPUs[0]; !v.Present || v.GPA != s.SharedInfoGPA || v.UpcallPending != 1 || v.PendingSel != 1 {
			t.Errorf("vcpu 0: %+v", v)
		}
		if last := len(s.VCPUs) - 1; last > 0 && (s.VCPUs[last].UpcallPending != 0 || s.VCPUs[last].PendingSel != 0) {
			t.Errorf("vcpu %d: %+v", last, s.VCPUs[last])
		}
	})
}

func TestEventStateIsBounded(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		m.mapShared(sharedGFN)
		l := abi.Layout(m.d.events.Width())
		words := int(l.Ports / l.Width.Bits())
		m.mem.mu.Lock()
		for i := range l.Ports / 8 {
			m.mem.over[sharedGFN].data[l.EvtchnPending+i] = 0xff
			m.mem.over[sharedGFN].data[l.EvtchnMask+i] = 0x55
		}
		m.mem.mu.Unlock()
		s := m.d.EventState()
		if len(s.Ports) != maxEventWords || s.More != words-maxEventWords {
			t.Fatalf("%d words and %d more of %d", len(s.Ports), s.More, words)
		}
		if w := s.Ports[1]; w.First != l.Width.Bits() || w.Pending != ^uint64(0)>>(64-l.Width.Bits()) || w.Mask != w.Pending/3 {
			t.Errorf("the second word: %+v", w)
		}
	})
}
