// SPDX-License-Identifier: Apache-2.0

// Package structure holds the rules of the house that a test can keep: which
// package may import which, where unsafe may appear, that every package says
// what it is, that files carry the licence, and that pinned things stay pinned.
// Each rule states its reason in the failure.
package structure
