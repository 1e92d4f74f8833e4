// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"bytes"
	"runtime"
	"sync"
	"testing"
	"time"

	"xenvmm/guest"
	"xenvmm/vmm/kvm/kvmtest"
	"xenvmm/vmm/memory"
)

// banner closes seen when the guest has written text.
type banner struct {
	mu   sync.Mutex
	text string
	got  []byte
	seen chan struct{}
	once sync.Once
}

func (b *banner) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.got = append(b.got, p...); bytes.Contains(b.got, []byte(b.text)) {
		b.once.Do(func() { close(b.seen) })
	}
	return len(p), nil
}

// TestKVMGuestCacheMakesItsVCPULeave runs two vCPUs that spin in ring 3 and never
// leave KVM_RUN by themselves. What a vCPU has taken over at its next entry tells
// that it has left.
func TestKVMGuestCacheMakesItsVCPULeave(t *testing.T) {
	kvmtest.Open(t)
	image, _ := guest.Image("hang")
	out := &banner{text: "HANG", seen: make(chan struct{})}
	m, err := New(Config{
		Kernel: image, KernelName: "hang", CPUs: 2, Cmdline: "cpus=2 mode=spin", Memory: 64 << 20,
		Console: Stream{Out: out},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	const frame, other = 48 << 20, 49 << 20 // that the guest does not use
	cache := m.NewGuestCache(0, "a page of vcpu 0")
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	<-out.seen
	if err := cache.Activate(frame, memory.PageSize); err != nil {
		t.Fatal(err)
	}
	changed := func(v int) bool { return m.times.cpus[v].changed.Load() }
	for range 50 {
		m.times.set(0, 0, false)
		m.times.set(1, 0, false)
		if err := m.Memory().Remap(other, memory.PageSize); err != nil {
			t.Fatal(err)
		}
		if err := m.Memory().Remap(frame, memory.PageSize); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(20 * time.Second); changed(0); runtime.Gosched() {
			if time.Now().After(deadline) {
				t.Fatal("vcpu 0 has not left the guest though a page of its own was withdrawn")
			}
		}
		if err := cache.Refresh(); err != nil {
			t.Fatal(err)
		}
	}
	if !changed(1) {
		t.Error("vcpu 1 was made to leave as well")
	}
}
