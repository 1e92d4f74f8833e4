// SPDX-License-Identifier: Apache-2.0

package rseq

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAThreadHasOneAreaForAllWhoAttach(t *testing.T) {
	need(t)
	onThread(func() {
		before := areas()
		a, b := attached(t), attached(t)
		if a.Sequence() != b.Sequence() {
			t.Errorf("areas %#x and %#x for one thread", a.Sequence(), b.Sequence())
		}
		a.Detach()
		c := attached(t)
		if c.Sequence() != b.Sequence() {
			t.Error("the area moved while it was in use")
		}
		b.Detach()
		c.Detach()
		if n := areas(); n != before {
			t.Errorf("%d areas before, %d after", before, n)
		}
		// The thread is as it was, whether it has an area of glibc's or none.
		attached(t).Detach()
	})
}

func TestThreadsHaveAreasOfTheirOwn(t *testing.T) {
	need(t)
	onThread(func() {
		a := attached(t)
		defer a.Detach()
		onThread(func() {
			b := attached(t)
			defer b.Detach()
			if a.Sequence() == b.Sequence() {
				t.Errorf("two threads share the area at %#x", a.Sequence())
			}
		})
	})
}

// A goroutine that unlocks without Detach leaves its thread registered, for other
// goroutines to run on; one that ends locked takes the thread with it.
func TestThreadsThatAreLeftRegisteredOrEndDoNotLeak(t *testing.T) {
	need(t)
	const threads = 200
	var kept []*Area
	for range threads {
		onThread(func() {
			a := attached(t)
			if len(kept)%2 == 0 {
				attached(t).Detach() // the other one stays
			}
			kept = append(kept, a)
		})
	}
	for _, a := range kept {
		a.Detach() // of a thread that is gone
	}
	// When memory is wanted, that of the dead is found.
	process.mu.Lock()
	free := process.free
	process.free = nil
	_, err := process.take()
	left := len(process.byTID)
	process.free = append(process.free, free...)
	process.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if left > threads/10 { // numbers of threads may have come back
		t.Errorf("%d of %d areas are still kept for threads that have ended", left, threads)
	}
}

func TestAThreadThatWasLeftRegisteredIsFoundAgain(t *testing.T) {
	need(t)
	onThread(func() {
		a := attached(t)
		if a.tid == 0 {
			t.Skip("the area is glibc's, and stays registered anyway")
		}
		elsewhere(a.Detach)
		if err := register(a.at, areaSize, 0); err != syscall.EBUSY {
			t.Fatalf("a Detach on another thread has changed this one: %v", err)
		}
		b := attached(t)
		if b.Sequence() != a.Sequence() {
			t.Errorf("area at %#x, the thread is registered with %#x", b.Sequence(), a.Sequence())
		}
		b.Detach()
	})
}

// elsewhere runs f on another thread.
func elsewhere(f func()) { onThread(f) }

func TestManyThreadsAtOnce(t *testing.T) {
	need(t)
	before := areas()
	var wg sync.WaitGroup
	var mu sync.Mutex
	inUse := map[uintptr]bool{}
	for range 16 {
		wg.Go(func() {
			for range 20 {
				onThread(func() {
					a := attached(t)
					mu.Lock()
					if inUse[a.Sequence()] {
						t.Errorf("two threads have the area at %#x", a.Sequence())
					}
					inUse[a.Sequence()] = true
					mu.Unlock()
					unix.Getppid()
					mu.Lock()
					delete(inUse, a.Sequence())
					mu.Unlock()
					a.Detach()
				})
			}
		})
	}
	wg.Wait()
	if n := areas(); n != before {
		t.Errorf("%d areas before, %d after", before, n)
	}
}

// A program with glibc shares glibc's areas, and one whose glibc was told not to
// register any has its own.
func TestTheAreaIsGlibcsWhereThatHasOne(t *testing.T) {
	need(t)
	offset, _, err := findLibc()
	if err != nil {
		t.Skip("no glibc that has areas: ", err)
	}
	without := os.Getenv("GLIBC_TUNABLES") != ""
	onThread(func() {
		a := attached(t)
		defer a.Detach()
		fs, err := threadPointer()
		if err != nil {
			t.Fatal(err)
		}
		if got := a.at == fs+offset; got == without {
			t.Errorf("area at %#x, glibc's at %#x; registered by glibc: %v", a.at, fs+offset, !without)
		}
	})
	if without {
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "GLIBC_TUNABLES=glibc.pthread.rseq=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("without glibc's registration: %v\n%s", err, out)
	}
}
