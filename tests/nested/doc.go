// SPDX-License-Identifier: Apache-2.0

// Package nested runs the tests that need KVM on every kernel the lab has as a
// host: Debian 6.12 with Xen support in its KVM, Debian 6.1 without, and 6.12
// with PREEMPT_RT. Each test there is a subtest here, named host/package/test,
// and what a host has or lacks decides what may be skipped.
//
// It needs the environment variable XENVMM_LAB (lab.TestEnv), as all tests that
// boot a lab host; `make nested` sets it. XENVMM_NESTED_HOSTS names some hosts
// only, XENVMM_NESTED_RUN is the pattern of the tests to run.
package nested
