// SPDX-License-Identifier: Apache-2.0

package rseq

import (
	"runtime"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onThread runs f on a thread of its own, which ends with it.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
}

// need skips the test where there is nothing to test.
func need(t *testing.T) {
	t.Helper()
	if err := Try(); err != nil {
		t.Skip(err)
	}
}

func attached(t *testing.T) *Area {
	t.Helper()
	a, err := Attach()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// areas is how many this package has registered or keeps for threads that have
// not let go.
func areas() int {
	process.mu.Lock()
	defer process.mu.Unlock()
	return len(process.byTID)
}
