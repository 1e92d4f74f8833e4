// SPDX-License-Identifier: Apache-2.0

// Package unpacktest packs data as Linux's build and the distributions do, for
// tests of what unpacks it. It knows nothing of package unpack, so that each
// is a check of the other.
//
// Concurrency: it has no state.
package unpacktest
