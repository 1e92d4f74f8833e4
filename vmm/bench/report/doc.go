// SPDX-License-Identifier: Apache-2.0

// Package report makes what people and programs read out of a bench.Report:
// text tables (Text), JSON (JSON), and pictures (Picture).
//
// All are functions of the Report alone: the same Report gives the same bytes,
// so that files made from it change only when the figures do.
//
// # JSON
//
// A document is one object:
//
//	{"format": 1, "reports": [ ... ]}
//
// Each element of reports is a bench.Report with the field names of its struct
// tags. Numbers are in base units whatever the text shows: nanoseconds, things
// per second, shares from 0 to 1. "kind" of a column or axis says which. A number
// is a median with its smallest and largest value and how many rounds it is of.
// A figure that others published is in a column or series with
// "published": true. docs/bench-format.md describes every field; the format
// number changes when a field changes its meaning or goes.
//
// # Pictures
//
// SVG and PNG. A guard has the same colour in every picture. Figures of others
// are drawn dashed and hollow.
//
// Functions of this package may be called from any goroutine; they keep no state.
package report
