// SPDX-License-Identifier: Apache-2.0

package gpc

import "errors"

var (
	// ErrInactive: the cache has no guest address (not activated, or deactivated).
	ErrInactive = errors.New("gpc: cache is inactive")
	// ErrNoMemory: the Resolver found no memory behind the address. It wraps the
	// Resolver's own error.
	ErrNoMemory = errors.New("gpc: no memory behind the guest address")
	// ErrBusy: invalidations overtook every try of a bounded number. The caller
	// keeps what it wanted to write and replays it from a restore hook.
	ErrBusy = errors.New("gpc: overtaken by invalidations")
	// ErrWouldBlock: a non-blocking InvalidateStart could not finish in time.
	ErrWouldBlock = errors.New("gpc: a reader is still inside; waiting is needed")
)
