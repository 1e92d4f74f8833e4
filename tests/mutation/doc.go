// SPDX-License-Identifier: Apache-2.0

// Package mutation makes mistakes in the product's source on purpose and
// demands that a test notices: a test that cannot fail proves nothing. The go
// command's overlay compiles the mutant, so nothing is written to the source
// tree and the product carries nothing for its sake. A mutant whose text has
// changed in the source fails loudly.
//
// The mutants of package gpc are in that package, beside its torture; these are
// the ones of what stands around it.
package mutation
