// SPDX-License-Identifier: Apache-2.0

package kvm_test

import "unsafe"

// hva is where mapped memory is on the host.
func hva(mem []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(mem))) }
