// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"sync"

	"xenvmm/xenshim/abi"
)

// paramRights is what a guest may do with a parameter of its own.
type paramRights uint8

const (
	paramForbidden  paramRights = iota // the toolstack's: -EPERM
	paramDeprecated                    // -EINVAL
	paramReadable                      // set: -EPERM
	paramWritable
)

// Deprecated parameters that have no name in abi (public/hvm/params.h): the
// device model domain, the memory events and the buffered ioreq port.
const (
	paramDMDomain       = 13
	paramMemEventFirst  = 20
	paramMemEventLast   = 23
	paramMemEventStep   = 25
	paramBufioreqEvtchn = 26
	paramMemEventMSR    = 30
)

// rightsOf tells what a guest may do with parameter i.
func rightsOf(i uint32) paramRights {
	switch i {
	case abi.HVMParamCallbackIRQ, abi.HVMParamStoreEvtchn, abi.HVMParamVM86TSS,
		abi.HVMParamConsoleEvtchn, abi.HVMParamVM86TSSSized, abi.HVMParamACPIIOPortsLocation,
		abi.HVMParamVMGenerationIDAddr, abi.HVMParamX87FIPWidth:
		return paramWritable
	case abi.HVMParamStorePFN, abi.HVMParamConsolePFN, abi.HVMParamAltp2m:
		return paramReadable
	case abi.HVMParamPAEEnabled, paramDMDomain, paramMemEventStep, paramBufioreqEvtchn, paramMemEventMSR:
		return paramDeprecated
	}
	if i >= paramMemEventFirst && i <= paramMemEventLast {
		return paramDeprecated
	}
	return paramForbidden
}

// params are the HVM parameters of the domain. One never set reads as 0.
type params struct {
	mu    sync.Mutex
	value [abi.HVMNrParams]uint64
}

func (p *params) get(i uint32) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.value[i]
}

func (p *params) set(i uint32, v uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.value[i] = v
}

func (p *params) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.value = [abi.HVMNrParams]uint64{}
}

// hvmParam is HVMOP_set_param and HVMOP_get_param. Checks come in Xen's order:
// index, domain, rights, value.
func (c *call) hvmParam(ptr uint64, set bool) int64 {
	p, ok := c.arg(ptr, abi.HVMParamSize)
	if !ok {
		return errno(abi.EFAULT)
	}
	index, value := u32(p, abi.HVMParamIndex), u64(p, abi.HVMParamValue)
	if index >= abi.HVMNrParams {
		return errno(abi.EINVAL)
	}
	if e := c.d.self(u16(p, abi.HVMParamDomID)); e != abi.OK {
		return errno(e)
	}
	switch r := rightsOf(index); {
	case r == paramDeprecated:
		return errno(abi.EINVAL)
	case r == paramForbidden, set && r == paramReadable:
		return errno(abi.EPERM)
	}
	if set {
		return errno(c.setParam(index, value))
	}
	putU64(p, abi.HVMParamValue, c.d.params.get(index))
	return c.putOut(ptr, p)
}

// setParam checks and stores a parameter the guest may set.
func (c *call) setParam(index uint32, value uint64) abi.Errno {
	switch index {
	case abi.HVMParamCallbackIRQ:
		c.d.params.set(index, value)
		c.d.setCallback(c, value)
		return abi.OK
	case abi.HVMParamACPIIOPortsLocation:
		return abi.ENODEV // there is no PM timer to move
	case abi.HVMParamX87FIPWidth:
		if value != 0 && value != 4 && value != 8 {
			return abi.EINVAL
		}
	}
	c.d.params.set(index, value)
	return abi.OK
}
