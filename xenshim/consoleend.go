// SPDX-License-Identifier: Apache-2.0

package xenshim

// EndConsole passes on what the guest has left in its PV console ring and ends
// that console. No vCPU may run any more. Close does the same.
func (d *Domain) EndConsole() {
	if d.console.console != nil {
		d.console.console.Close()
	}
}
