// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// vmAssist switches an assist on or off: vm_assist(cmd, type). An HVM guest
// has one: runstate_update_flag, which marks a runstate area as being written
// (runstate.go). The type is checked before the command.
func (c *call) vmAssist(a *args) int64 {
	if uint32(a[1]) != abi.VMAssistRunstateUpdateFlag {
		return errno(abi.EINVAL)
	}
	switch uint32(a[0]) {
	case abi.VMAssistCmdEnable:
		c.d.runstateFlag.Store(true)
	case abi.VMAssistCmdDisable:
		c.d.runstateFlag.Store(false)
	default:
		return errno(abi.ENOSYS)
	}
	return 0
}
