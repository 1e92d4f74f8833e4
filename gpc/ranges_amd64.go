// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"sync"

	"xenvmm/gpc/srcu/rseq"
)

// Every section consists of restartable ranges (package rseq), whose numbers
// these are. The assembly uses them as const_deliverPending and so on.
const (
	deliverPending = iota
	deliverSelect
	deliverUpcall
	unmaskMask
	unmaskSelect
	unmaskUpcall
	resumeSelect
	resumeUpcall
	raiseSelect
	raiseUpcall
	load32Range
	xchg32Range
	xchg8Range
	or32Range
	and32Range
	cas32Range
	copyOutRange
	copyInRange
	rangeCount
)

// ranges are the descriptors of the ranges. They say where in the code each is,
// and that is the same for the whole process; until described has filled them in
// only readers use them whose threads tell nobody.
var ranges [rangeCount]rseq.Descriptor

// described describes the ranges, once for the process. If it fails there are no
// restartable readers.
var described = sync.OnceValue(func() error {
	var functions []uintptr
	for i := range sectionCount {
		functions = append(functions, sectionEntry(i))
	}
	return rseq.Scan(functions, ranges[:])
})

// sectionCount is the number of sections that sectionEntry knows.
const sectionCount = 12

// sectionEntry returns the address of the first instruction of section i. The
// value of a Go variable of function type would be that of a wrapper.
func sectionEntry(i int) uintptr
