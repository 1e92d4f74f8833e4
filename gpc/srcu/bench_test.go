// SPDX-License-Identifier: Apache-2.0

package srcu

import (
	"runtime"
	"sync"
	"testing"
)

func BenchmarkSection(b *testing.B) {
	d := New(Options{})
	b.Run("srcu", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			r := d.NewReader()
			defer r.Close()
			for pb.Next() {
				r.Enter()
				r.Exit()
			}
		})
	})
	b.Run("sync.RWMutex", func(b *testing.B) {
		var mu sync.RWMutex
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				mu.RLock()
				//lint:ignore SA2001 an empty section is what is measured
				mu.RUnlock()
			}
		})
	})
}

func BenchmarkSynchronize(b *testing.B) {
	for _, readers := range []int{0, 4, 64} {
		b.Run(map[int]string{0: "no readers", 4: "4 idle readers", 64: "64 idle readers"}[readers], func(b *testing.B) {
			d := New(Options{})
			for range readers {
				defer d.NewReader().Close()
			}
			b.ReportAllocs()
			for b.Loop() {
				d.Synchronize()
			}
		})
	}
}

// BenchmarkRestart is a grace period that finds a restartable section inside
// which does not end: what a descheduled reader costs an updater.
func BenchmarkRestart(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d := New(Options{})
	r := d.NewThreadReader()
	defer r.Close()
	if r.area == nil {
		b.Skip("no restartable sections here")
	}
	r.slot.begin()
	defer r.slot.end()
	b.ReportAllocs()
	for b.Loop() {
		if !d.Synchronize().Aborted {
			b.Fatal("it was not restarted")
		}
	}
}
