// SPDX-License-Identifier: Apache-2.0

package warm

import (
	"io"
	"sync"
)

// input is a program's standard input as it comes from the client. The
// client's credit bounds it.
type input struct {
	mu       sync.Mutex
	cond     sync.Cond
	data     []byte
	ended    bool
	consumed func(n int)
}

func newInput(consumed func(n int)) *input {
	in := &input{consumed: consumed}
	in.cond.L = &in.mu
	return in
}

// push adds data; none is the end.
func (in *input) push(p []byte) {
	in.mu.Lock()
	in.data = append(in.data, p...)
	in.ended = in.ended || len(p) == 0
	in.mu.Unlock()
	in.cond.Signal()
}

// Read waits for data or the end.
func (in *input) Read(p []byte) (int, error) {
	in.mu.Lock()
	for len(in.data) == 0 && !in.ended {
		in.cond.Wait()
	}
	n := copy(p, in.data)
	in.data = in.data[n:]
	in.mu.Unlock()
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	in.consumed(n)
	return n, nil
}
