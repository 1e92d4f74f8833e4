// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// consoleIO is the emergency console: console_io(cmd, count, buffer). Write
// passes count bytes to Config.ConsoleIO, at most 64 KiB a call (-E2BIG
// beyond). Read always returns 0: the emergency console has no input.
func (c *call) consoleIO(a *args) int64 {
	count, buf := a[1]&0xffff_ffff, a[2]
	switch uint32(a[0]) {
	case abi.ConsoleIOWrite:
		if count > consoleWriteMax {
			return errno(abi.E2BIG)
		}
		for count > 0 {
			n := min(count, uint64(len(c.pageBuf)))
			p := c.pageBuf[:n]
			if !c.copyIn(p, buf) {
				return errno(abi.EFAULT)
			}
			if !c.spend(consoleCost) {
				return errno(abi.EAGAIN)
			}
			c.d.writeConsole(p)
			buf, count = buf+n, count-n
		}
		return 0
	case abi.ConsoleIORead:
		return 0
	}
	return errno(abi.ENOSYS)
}
