// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"errors"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// placeVCPUInfo puts the vcpu_info of a vCPU that has registered none where it
// is by default: in shared_info for the first 32 vCPUs, nowhere for the rest.
// The caller holds mu.
func (t *Table) placeVCPUInfo(i int) error {
	v := &t.vcpus[i]
	switch {
	case v.registered:
	case t.mapped && i < abi.SharedInfoVCPUs:
		return v.info.Activate(t.sharedAt+uint64(i)*abi.VCPUInfoSize, abi.VCPUInfoSize)
	default:
		v.info.Deactivate()
	}
	return nil
}

// RegisterVCPUInfo is VCPUOP_register_vcpu_info: the vcpu_info of a vCPU is at
// gpa from now on, for good. ENOENT if there is no such vCPU; ENXIO if gpa is
// not a multiple of the guest's word size or the 64 bytes cross a page; EBUSY if
// the vCPU has registered one; EINVAL if there is no memory at gpa; EAGAIN if
// that changes too fast to tell.
//
// The old contents are copied. So that nothing is missed that was recorded in
// the old place meanwhile, the vCPU is made to look at all its ports, by one
// event more than necessary.
func (t *Table) RegisterVCPUInfo(r *gpc.Reader, vcpu int, gpa uint64) abi.Errno {
	if vcpu < 0 || vcpu >= len(t.vcpus) {
		return abi.ENOENT
	}
	if gpa%uint64(t.Width()) != 0 || gpa%abi.PageSize > abi.PageSize-abi.VCPUInfoSize {
		return abi.ENXIO
	}
	if e := t.registerVCPUInfo(r, vcpu, gpa); e != abi.OK {
		return e
	}
	t.kept.keepMark(vcpu)
	t.kept.replay()
	return abi.OK
}

func (t *Table) registerVCPUInfo(r *gpc.Reader, vcpu int, gpa uint64) abi.Errno {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := &t.vcpus[vcpu]
	if v.registered {
		return abi.EBUSY
	}
	var old [abi.VCPUInfoSize]byte
	copyInfo(v.info, func() bool { return r.ReadAt(v.info, old[:], 0) })
	// Senders go to the new place from here on; when Activate returns, none is
	// left at the old one.
	if err := v.info.Activate(gpa, abi.VCPUInfoSize); err != nil {
		t.log.Debug("evtchn: vcpu_info can't be registered", "vcpu", vcpu, "gpa", gpa, "err", err)
		if errors.Is(err, gpc.ErrBusy) {
			return abi.EAGAIN
		}
		return abi.EINVAL
	}
	v.registered = true
	// This may overwrite what such senders have set, all of which mark sets too.
	copyInfo(v.info, func() bool { return r.WriteAt(v.info, old[:], 0) })
	return abi.OK
}

// copyInfo runs an access to a vcpu_info, again if it was stale. If it is away
// the access is left out: the first 32 bytes are set by mark, the rest is the
// time, which the clock's keeper writes anew.
func copyInfo(info *gpc.Cache, access func() bool) {
	for range maxTries {
		if access() || info.Refresh() != nil {
			return
		}
	}
}

// VCPUInfoGPA returns the guest physical address of the vcpu_info of a vCPU. ok
// is false if it has none at present.
func (t *Table) VCPUInfoGPA(vcpu int) (gpa uint64, ok bool) {
	if vcpu < 0 || vcpu >= len(t.vcpus) {
		return 0, false
	}
	return t.vcpus[vcpu].info.GPA()
}

// SetSpurious interrupts a vCPU whether or not something is pending, as
// HVMOP_set_evtchn_upcall_vector does: an event that came when the vCPU had no
// vector yet is found then. Guest memory is left alone, in particular
// evtchn_upcall_pending: if this interrupt gets lost, the next event brings one.
func (t *Table) SetSpurious(_ *gpc.Reader, vcpu int) {
	if vcpu >= 0 && vcpu < len(t.vcpus) {
		t.up.Upcall(vcpu)
	}
}
