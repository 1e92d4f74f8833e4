// SPDX-License-Identifier: Apache-2.0

// Package abi holds the numbers and memory layouts of the Xen guest ABI for
// x86: hypercall and sub-operation numbers, error codes, feature bits, and the
// offsets of shared structures in their 64-bit and 32-bit (compat) forms.
//
// It has no behaviour and imports nothing, so that every other package may use
// it. Names follow the public headers (xen/include/public): a constant's doc
// comment names the header it restates. All multi-byte values in guest memory
// are little endian.
package abi
