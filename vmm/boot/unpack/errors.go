// SPDX-License-Identifier: Apache-2.0

package unpack

import "errors"

// What can be wrong with the input, for errors.Is; the errors that wrap them
// have the details.
var (
	// ErrFormat: the input is damaged or contradicts itself.
	ErrFormat = errors.New("malformed image")
	// ErrUnsupported: the input is of a kind that is not unpacked here.
	ErrUnsupported = errors.New("unsupported image")
	// ErrLimit: the result, or the memory to make it, would be too large.
	ErrLimit = errors.New("limit exceeded")
)
