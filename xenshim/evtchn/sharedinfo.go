// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"fmt"

	"xenvmm/xenshim/abi"
)

// MapSharedInfo tells that the shared_info page is at gpa, page-aligned, and
// that the guest has words of width w. vCPUs below 32 that have registered no
// vcpu_info have theirs in it. What was latched is replayed before it returns.
//
// To move the page, UnmapSharedInfo comes first, then the page moves with its
// contents, then MapSharedInfo: in between, the old gpa may be ordinary memory
// of the guest already. On an error nothing is mapped and events are latched.
func (t *Table) MapSharedInfo(gpa uint64, w abi.Width) error {
	if gpa%abi.PageSize != 0 {
		return fmt.Errorf("evtchn: shared_info at %#x: not page-aligned: use a multiple of %#x", gpa, abi.PageSize)
	}
	if err := t.mapSharedInfo(gpa, w); err != nil {
		return fmt.Errorf("evtchn: shared_info at %#x: %w", gpa, err)
	}
	t.kept.replay()
	return nil
}

func (t *Table) mapSharedInfo(gpa uint64, w abi.Width) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unmapSharedInfo()
	t.setWidth(w)
	t.sharedAt, t.mapped, t.touched = gpa, true, true
	// vCPUs first: an event finds its vcpu_info where it finds its port.
	for i := range t.vcpus {
		if err := t.placeVCPUInfo(i); err != nil {
			t.unmapSharedInfo()
			return err
		}
	}
	if err := t.shared.Activate(gpa, abi.PageSize); err != nil {
		t.unmapSharedInfo()
		return err
	}
	return nil
}

// UnmapSharedInfo tells that the shared_info page is about to leave its place.
// When it returns, nothing is written there any more; events are latched.
func (t *Table) UnmapSharedInfo() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unmapSharedInfo()
}

func (t *Table) unmapSharedInfo() {
	t.mapped = false
	t.shared.Deactivate()
	for i := range t.vcpus {
		if !t.vcpus[i].registered {
			t.vcpus[i].info.Deactivate()
		}
	}
}

// SetWidth changes the guest's word width. Bitmaps in guest memory are not
// converted, as in Xen; ports that the width has no number for keep their state,
// and their events wait, until it has.
func (t *Table) SetWidth(w abi.Width) {
	t.mu.Lock()
	t.setWidth(w)
	t.mu.Unlock()
	t.kept.replay()
}

func (t *Table) setWidth(w abi.Width) {
	if w != t.Width() {
		t.useABI(newTwoLevel(t, w))
	}
}

// Width is the guest's word width.
func (t *Table) Width() abi.Width {
	if t.current().ports() == abi.EvtchnPorts32 {
		return abi.Width32
	}
	return abi.Width64
}
