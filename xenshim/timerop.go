// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// setTimerOp sets the calling vCPU's one-shot timer: set_timer_op(deadline),
// an absolute guest time in ns, 0 to stop. 32-bit callers pass the low and the
// high half in two arguments.
func (c *call) setTimerOp(a *args) int64 {
	deadline := a[0]
	if c.width == abi.Width32 {
		deadline |= a[1] << 32
	}
	return errno(c.d.timers.SetTimerOp(c.id, deadline))
}
