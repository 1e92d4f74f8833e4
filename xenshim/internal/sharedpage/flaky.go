// SPDX-License-Identifier: Apache-2.0

package sharedpage

import (
	"fmt"
	"math/rand"
	"sync"

	"xenvmm/gpc"
)

// Flaky is a Page as a backend sees it whose memory is away every now and then.
// An access that finds it away does nothing and fails as one through a gpc cache
// does; the memory is back at once, and Restored is called, as a restore hook
// would be. The guest's side goes on using the Page itself.
type Flaky struct {
	page     *Page
	restored func()

	mu     sync.Mutex
	rnd    *rand.Rand
	oneIn  int
	missed int
	hooks  sync.WaitGroup
}

// NewFlaky returns a view of p in which one access in oneIn fails, seed says
// which. restored is called after each, by another goroutine.
func NewFlaky(p *Page, seed int64, oneIn int, restored func()) *Flaky {
	return &Flaky{page: p, restored: restored, rnd: rand.New(rand.NewSource(seed)), oneIn: oneIn}
}

// Missed waits for all calls of restored and returns how many accesses failed.
// The backend must have ended.
func (f *Flaky) Missed() int {
	f.hooks.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.missed
}

func (f *Flaky) away() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rnd.Intn(f.oneIn) != 0 {
		return nil
	}
	f.missed++
	f.hooks.Go(f.restored)
	return fmt.Errorf("access %d: %w", f.missed, gpc.ErrNoMemory)
}

// ReadAt, WriteAt, Load32 and Store32 are those of Page.
func (f *Flaky) ReadAt(b []byte, off uint32) error {
	if err := f.away(); err != nil {
		return err
	}
	return f.page.ReadAt(b, off)
}

func (f *Flaky) WriteAt(b []byte, off uint32) error {
	if err := f.away(); err != nil {
		return err
	}
	return f.page.WriteAt(b, off)
}

func (f *Flaky) Load32(off uint32) (uint32, error) {
	if err := f.away(); err != nil {
		return 0, err
	}
	return f.page.Load32(off)
}

func (f *Flaky) Store32(off, v uint32) error {
	if err := f.away(); err != nil {
		return err
	}
	return f.page.Store32(off, v)
}

// CompareAndSwap32 is that of Page.
func (f *Flaky) CompareAndSwap32(off, old, v uint32) (bool, error) {
	if err := f.away(); err != nil {
		return false, err
	}
	return f.page.CompareAndSwap32(off, old, v)
}
