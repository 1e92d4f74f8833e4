// SPDX-License-Identifier: Apache-2.0

// Command build compiles the test guests with the C compiler of the host: one
// compiler run per source file, always with the same flags, so that the same
// compiler version makes the same bytes wherever the checkout lies.
//
// It runs in the guest directory (go generate does that) and keeps nothing.
package main
