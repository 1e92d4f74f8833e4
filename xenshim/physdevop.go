// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// physdevOp is physdev_op(cmd, ptr). Event channels for physical interrupts
// are not offered (features bit 10 is clear), which takes all commands away
// but the two a device model uses to map interrupts; those answer for
// themselves that the caller isn't one.
func (c *call) physdevOp(a *args) int64 {
	size := uint32(abi.PhysdevUnmapPirqSize)
	switch uint32(a[0]) {
	case abi.PhysdevOpMapPirq:
		size = abi.PhysdevMapPirqSize64
		if c.width == abi.Width32 {
			size = abi.PhysdevMapPirqSize32
		}
	case abi.PhysdevOpUnmapPirq:
	default:
		return errno(abi.ENOSYS)
	}
	p, ok := c.arg(a[1], size)
	if !ok {
		return errno(abi.EFAULT)
	}
	if c.d.self(u16(p, 0)) == abi.ESRCH {
		return errno(abi.ESRCH)
	}
	return errno(abi.EPERM)
}
