// SPDX-License-Identifier: Apache-2.0

// Package kvmtest is for tests that need KVM: it opens the device or skips the
// test with the reason, reports what the test forgot to close, and sets up a
// small 64-bit guest for programs of a few bytes.
//
// Such tests are in files named *_kvm_test.go. Where KVM must be there, set the
// environment variable named by Require, so that its absence is a failure.
//
// Concurrency: everything here is for one test's goroutine.
package kvmtest
