// SPDX-License-Identifier: Apache-2.0

package gpc

// A mapping is an immutable translation. Readers load the pointer to it once
// per section and use nothing else, so address and length always belong
// together. n is 0 in mappings that are no translation: the shared invalid one
// and the claims of refreshes in progress; every range check fails on those, so
// readers need no other test for validity.
type mapping struct {
	hva uintptr
	n   uint64
	gpa uint64
}

func (m *mapping) valid() bool { return m.n != 0 }

// place is where a cache should point: what the guest asked for, whether or not
// there is memory at present.
type place struct {
	gpa, n uint64
}
