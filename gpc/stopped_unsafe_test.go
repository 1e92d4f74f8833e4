// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"xenvmm/gpc/srcu"

	"golang.org/x/sys/unix"
)

// envStopped says which reader a child has stopped, as JSON.
const envStopped = "GPC_STOPPED"

// A stoppedReader is one that the kernel keeps from running in the middle of a
// section.
type stoppedReader struct {
	Name   string
	Wait   srcu.Wait
	Thread bool // of NewThreadReader
	Passes bool // a grace period ends nevertheless
}

// A reader that does not run, in the middle of a section, for as long as it
// takes: where sections restart, an invalidation does without it, and the reader
// touches nothing old when it runs again. Everywhere else an invalidation must
// not return before it does.
func TestAReaderStoppedInsideASection(t *testing.T) {
	for _, which := range []stoppedReader{
		{"thread, rseq", srcu.WaitRseq, true, true},
		{"goroutine, rseq", srcu.WaitRseq, false, false},
		{"thread, futex", srcu.WaitFutex, true, false},
	} {
		t.Run(which.Name, func(t *testing.T) {
			if which.Wait == srcu.WaitRseq {
				if got, why := WaitPolicy(); got != srcu.WaitRseq {
					t.Skipf("restartable sections do not work here: %v", why)
				}
			}
			config, err := json.Marshal(which)
			must(err)
			out, err := traced(t, os.Args[0], "TestStoppedReaderChild", time.Minute, envStopped+"="+string(config))
			switch {
			case strings.Contains(out, notPermitted):
				t.Skip(out)
			case err != nil || !strings.Contains(out, "SURVIVED"):
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// notPermitted is what a child says that cannot do its work.
const notPermitted = "threads cannot be stopped here: "

func TestStoppedReaderChild(t *testing.T) {
	config := os.Getenv(envStopped)
	if config == "" {
		t.Skip("runs in a child process of TestAReaderStoppedInsideASection")
	}
	var which stoppedReader
	must(json.Unmarshal([]byte(config), &which))
	// Nothing may want to stop the world while a thread does not run.
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(8)
	tracer, err := newStopper()
	must(err)
	m := newGuestMemory(t, 1)
	s, _ := newTestSet(t, m, "srcu")
	s.guard = srcuGuard{srcu.New(srcu.Options{Wait: which.Wait})}
	c := activated(t, s, "c", 1*pageSize, pageSize)
	read := &stoppable{cache: c}
	go read.run(s, which.Thread)
	until(t, "the reader runs", func() bool { return read.rounds.Load() > 1000 })
	for n := range 6 {
		for !read.stopInside(tracer) {
			must(c.Refresh())
		}
		seq := read.seq()
		// One that passes need not wait, so it may be one that must not.
		mayBlock := !which.Passes || n%2 == 0
		done := background(func() { must(s.InvalidateStart(1*pageSize, pageSize, mayBlock)) })
		if which.Passes {
			until(t, "the invalidation has passed the reader", func() bool { return !running(done) })
			if read.seq() != seq {
				t.Fatal("the reader runs")
			}
		} else {
			until(t, "the updater sleeps until the section ends", func() bool { return waiterWord(read.r).Load() != 0 })
			for range 1000 {
				runtime.Gosched()
			}
			if !running(done) {
				t.Fatal("the invalidation has ended and the reader is still inside")
			}
		}
		if which.Passes { // what the reader had in hand goes away under it
			m.page(1).forbid()
		}
		if res := tracer.goOn(); res.err != 0 {
			t.Fatal(res.err)
		}
		until(t, "the invalidation ends", func() bool { return !running(done) })
		was := read.rounds.Load()
		until(t, "the reader goes on", func() bool { return read.rounds.Load() > was+10 })
		if !which.Passes {
			m.page(1).forbid()
		}
		m.put(1, newHostPage()).unmap()
		s.InvalidateEnd(1*pageSize, pageSize)
	}
	read.stop.Store(true)
	until(t, "the reader ends", read.ended.Load)
	fmt.Println("SURVIVED")
}

// A stoppable is a reader on a thread of its own that does nothing but enter
// sections. It does not refresh, so it can be seen to go on when it finds all
// stale.
type stoppable struct {
	cache       *Cache
	r           *Reader
	tid         int
	rounds      atomic.Int64
	stop, ended atomic.Bool
}

func (read *stoppable) run(s *Set, thread bool) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() {
		<-background(func() { read.run(s, thread) })
		return
	}
	if read.r = s.NewReader(); thread {
		read.r.Close()
		read.r = s.NewThreadReader()
	}
	defer read.ended.Store(true)
	defer read.r.Close()
	read.tid = unix.Gettid()
	buf := make([]byte, pageSize)
	for !read.stop.Load() {
		read.r.ReadAt(read.cache, buf, 0) // the longest section there is
		read.rounds.Add(1)
	}
}

// seq is the counter of the reader's slot.
func (read *stoppable) seq() uint64 {
	return (*atomic.Uint64)(unsafe.Add(unsafe.Pointer(read.r.slot), srcu.SlotSeq)).Load()
}

// stopInside stops the reader and reports whether that was inside a section. If
// not, it runs again.
func (read *stoppable) stopInside(s *stopper) bool {
	res := s.stop(stopRequest{Victims: []victim{{tid: read.tid, slot: slotAddr(read.r)}}, Inside: true})
	if res.err != 0 {
		fmt.Println(notPermitted, res.err)
		os.Exit(0)
	}
	if !res.inside {
		s.goOn()
	}
	return res.inside
}
