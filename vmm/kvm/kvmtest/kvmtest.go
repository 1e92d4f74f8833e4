// SPDX-License-Identifier: Apache-2.0

package kvmtest

import (
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"xenvmm/vmm/kvm"
)

// Require is the environment variable that turns a skip into a failure: set it
// to 1 where KVM must be there, so that a broken lab is not read as success.
const Require = "XENVMM_REQUIRE_KVM"

// Device names another KVM device than /dev/kvm, for the tests only.
const Device = "XENVMM_KVM_DEVICE"

// Open returns an open KVM, closed when the test ends. Without a usable device
// the test is skipped with the reason. Objects made from it and dropped without
// Close are reported as errors at the end of the test.
func Open(t testing.TB) *kvm.System {
	t.Helper()
	path := os.Getenv(Device)
	if path == "" {
		path = "/dev/kvm"
	}
	var leaks leakList
	s, err := kvm.OpenWith(path, kvm.Options{OnLeak: leaks.add})
	if err != nil {
		if os.Getenv(Require) == "1" {
			t.Fatalf("%s=1 and %v", Require, err)
		}
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		settle()
		for _, what := range leaks.take() {
			t.Errorf("%s was dropped without Close", what)
		}
	})
	return s
}

// settle lets the cleanups of everything unreachable run: they are queued in
// order by a collection, so one for an object made afterwards comes last.
func settle() {
	done := make(chan struct{})
	mark := new([64]byte)
	runtime.GC()
	runtime.AddCleanup(mark, func(c chan struct{}) { close(c) }, done)
	mark = nil
	runtime.GC()
	select {
	case <-done:
	case <-time.After(time.Second): // a missed report is better than a hung test
	}
}

type leakList struct {
	mu   sync.Mutex
	what []string
}

func (l *leakList) add(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.what = append(l.what, what)
}

func (l *leakList) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.what
	l.what = nil
	return w
}
