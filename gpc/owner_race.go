// SPDX-License-Identifier: Apache-2.0

//go:build race

package gpc

import (
	"fmt"

	"golang.org/x/sys/unix"
)

type owner struct {
	tid int // 0: any
}

func thisThread() owner { return owner{unix.Gettid()} }

// check panics on a thread that the reader does not belong to: there it would
// neither be restarted itself nor leave that thread's own ranges alone.
func (o owner) check() {
	if o.tid != 0 && o.tid != unix.Gettid() {
		panic(fmt.Sprintf("gpc: the reader of thread %d is used on thread %d: keep the goroutine locked to its thread, or use NewReader", o.tid, unix.Gettid()))
	}
}
