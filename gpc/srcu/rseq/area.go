// SPDX-License-Identifier: Apache-2.0

package rseq

import (
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// An Area is where one thread tells the kernel which range it is in.
type Area struct {
	at    uintptr
	tid   int  // 0: the area is glibc's, which looks after it
	users int  // attachments; guarded by threads.mu
	dead  bool // guarded by threads.mu
}

// Sequence is the address of the word (rseq_cs) into which the thread stores the
// address of a Descriptor before it enters the Descriptor's range. No other
// thread may do so. It need not be cleared.
func (a *Area) Sequence() uintptr { return a.at + sequenceOffset }

// CPU is the address of the 32-bit word in which the kernel leaves the number of
// the processor that the thread is about to run on, each time before it lets the
// thread run. ours says that the address stays mapped for ever; otherwise it is
// glibc's, and goes when the thread ends.
func (a *Area) CPU() (at uintptr, ours bool) { return a.at + cpuOffset, a.tid != 0 }

// threads are the areas that this package has registered. The kernel has one
// area for each thread and no way to ask for it, so whoever attaches to a thread
// a second time must be able to find what the first time left: hence one table
// for the process. Goroutines that were locked may leave a thread registered and
// alive, or end it, without a word.
type threads struct {
	mu    sync.Mutex
	byTID map[int]*Area
	free  []uintptr
}

var process threads

// Attach finds or registers the Area of the calling thread, to which the caller
// is locked and stays locked until Detach. Its error is an *Error.
func Attach() (*Area, error) {
	tid := unix.Gettid()
	a, err := process.attach(tid)
	if err == syscall.EINVAL {
		// The thread is registered, and not by us.
		return attachLibc()
	}
	if err != nil {
		return nil, &Error{"rseq(2)", err, permit}
	}
	return a, nil
}

func (p *threads) attach(tid int) (*Area, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.byTID[tid]
	if a == nil {
		at, err := p.take()
		if err != nil {
			return nil, err
		}
		a = &Area{at: at, tid: tid}
	}
	// An area of this number in the table may be that of a thread that has ended
	// since: then it is registered now, for the new thread.
	if err := register(a.at, areaSize, 0); err != nil && err != syscall.EBUSY {
		p.drop(a)
		return nil, err
	}
	a.users++
	if p.byTID == nil {
		p.byTID = map[int]*Area{}
	}
	p.byTID[tid] = a
	return a, nil
}

// Detach ends the use of the area, on the thread that it belongs to. On another
// one, or after that thread's end, it only notes that there is one user less.
func (a *Area) Detach() {
	if a.tid == 0 {
		return
	}
	p := &process
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.users--; a.users > 0 || a.tid != unix.Gettid() {
		return
	}
	// If it fails, then this is another thread with the same number, and the
	// area's own has ended.
	_ = register(a.at, areaSize, flagUnregister)
	p.drop(a)
}

// drop makes the memory of an area that no thread is registered with available.
func (p *threads) drop(a *Area) {
	if a.dead {
		return
	}
	a.dead = true
	if p.byTID[a.tid] == a {
		delete(p.byTID, a.tid)
	}
	p.free = append(p.free, a.at)
}

// take returns memory for an area. Before it asks for more it looks for threads
// that have ended without Detach on them.
func (p *threads) take() (uintptr, error) {
	if len(p.free) == 0 {
		for tid, a := range p.byTID {
			if a.users == 0 && unix.Tgkill(os.Getpid(), tid, 0) == unix.ESRCH {
				p.drop(a)
			}
		}
	}
	if len(p.free) == 0 {
		more, err := newAreas()
		if err != nil {
			return 0, fmt.Errorf("memory for the areas of threads: %w", err)
		}
		p.free = more
	}
	at := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return at, nil
}
