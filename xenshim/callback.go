// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// decodeCallback reads HVM_PARAM_CALLBACK_IRQ (public/hvm/params.h). Zero and
// unknown types mean no callback; setting them is no error.
func decodeCallback(v uint64) Callback {
	switch v >> abi.CallbackViaTypeShift {
	case abi.CallbackViaGSI:
		if v == 0 {
			return Callback{}
		}
		return Callback{Type: CallbackGSI, GSI: uint8(v)}
	case abi.CallbackViaPCIIntx:
		return Callback{Type: CallbackINTx, Device: uint8(v>>11) & 31, Pin: uint8(v) & 3}
	case abi.CallbackViaVector:
		return Callback{Type: CallbackVector, Vector: uint8(v)}
	}
	return Callback{}
}

// setCallback applies a new callback, latches the domain's width from the
// caller's mode, and lets every vCPU that has events pending hear of them the
// new way.
func (d *Domain) setCallback(c *call, value uint64) {
	d.cfg.Platform.SetCallback(decodeCallback(value))
	d.latchWidth(c.width)
	for _, v := range d.vcpus {
		if d.events.UpcallPending(c.reader, v.id) {
			d.cfg.Platform.Upcall(v.id)
		}
	}
}
