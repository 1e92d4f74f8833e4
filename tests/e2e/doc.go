// SPDX-License-Identifier: Apache-2.0

// Package e2e runs whole machines: every embedded guest test, the event storm
// with each guard and upcall method, a guest that nobody here wrote (GRUB), and
// the command line. Tests that need KVM are named TestKVM...; where there is no
// /dev/kvm they skip with that reason, and `make test` runs them in the lab.
package e2e
