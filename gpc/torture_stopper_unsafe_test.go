// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SIGSTOP stops a whole process. A single thread is stopped by a tracer, which
// is another process: the parent of the child under torture. It also lets the
// thread go again by itself, because the child may be waiting for the thread
// by then, to stop the world. The two talk over a socket.

// envStopper names the descriptor of the child's end.
const envStopper = "GPC_TORTURE_STOPPER"

// A stopRequest asks for one of some threads to be stopped for a time, and for
// what happens to its slot and to a counter meanwhile.
type stopRequest struct {
	Victims []victim
	Inside  bool // stop it within a section, if that can be had
	Counter *atomic.Uint64
	Slack   int           // what the counter may grow by without having passed
	Hold    time.Duration // 0: until it is told to go on
}

// stopVictims is how many of them the message has room for.
const stopVictims = 16

// stopMessage is the request on its way. TID 0 is no thread.
type stopMessage struct {
	Victims                      [stopVictims]struct{ TID, Slot uint64 }
	Inside, Counter, Slack, Hold uint64
}

// stopReply is the answer.
type stopReply struct{ Errno, TID, Inside, Passed uint64 }

type stopResult struct {
	err    unix.Errno
	tid    int
	inside bool // the thread was stopped within a section
	passed bool // and the counter passed it by
}

// A stopper is the child's side.
type stopper struct{ fd int }

func newStopper() (*stopper, error) {
	fd, err := strconv.Atoi(os.Getenv(envStopper))
	if err != nil {
		return nil, fmt.Errorf("the parent process does not offer to trace")
	}
	return &stopper{fd}, nil
}

// stop returns when the thread runs again; if it is held until it is told, when
// it has stopped.
func (s *stopper) stop(req stopRequest) stopResult {
	m := stopMessage{
		Inside:  uint64(bit(req.Inside)),
		Counter: uint64(uintptr(unsafe.Pointer(req.Counter))),
		Slack:   uint64(req.Slack),
		Hold:    uint64(req.Hold),
	}
	for i, v := range req.Victims[:min(len(req.Victims), stopVictims)] {
		m.Victims[i].TID, m.Victims[i].Slot = uint64(v.tid), uint64(v.slot)
	}
	must(sendMessage(s.fd, &m))
	return s.reply()
}

// goOn lets a thread run again that is held until then.
func (s *stopper) goOn() stopResult {
	must(sendMessage(s.fd, new(stopMessage)))
	return s.reply()
}

func (s *stopper) reply() stopResult {
	var rep stopReply
	must(receiveMessage(s.fd, &rep))
	return stopResult{unix.Errno(rep.Errno), int(rep.TID), rep.Inside != 0, rep.Passed != 0}
}

func sendMessage(fd int, m any) error {
	b, err := binary.Append(nil, binary.NativeEndian, m)
	must(err)
	_, err = unix.Write(fd, b)
	return err
}

func receiveMessage(fd int, m any) error {
	b := make([]byte, binary.Size(m))
	for {
		n, err := unix.Read(fd, b)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		case n != len(b):
			return unix.EPIPE // the other end is closed
		}
		_, err = binary.Decode(b, binary.NativeEndian, m)
		return err
	}
}

// serveStops is the parent's side. It returns when the child has closed its end.
func serveStops(fd, pid int) {
	runtime.LockOSThread() // a tracer is a thread; it ends with its priority
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -15)
	for {
		var req stopMessage
		if receiveMessage(fd, &req) != nil {
			return
		}
		rep, err := stopThread(fd, pid, &req)
		if err != nil {
			errno, ok := err.(unix.Errno)
			if !ok {
				errno = unix.EIO
			}
			rep.Errno = uint64(errno)
		}
		if sendMessage(fd, &rep) != nil {
			return
		}
	}
}

// stopTries is how often a thread is stopped at most until one is found inside a
// section.
const stopTries = 10

// stopThread stops a thread of process pid, looks, waits, looks again, and lets
// it go.
func stopThread(fd, pid int, req *stopMessage) (rep stopReply, err error) {
	for try := 1; ; try++ {
		tid, slot := pickRunning(pid, req)
		rep.TID = uint64(tid)
		sig, err := halt(tid)
		if err != nil {
			return rep, err
		}
		seq, graces := peek(pid, slot), peek(pid, req.Counter)
		if seq&1 == 0 && req.Inside != 0 && try < stopTries {
			if err := release(tid, sig); err != nil {
				return rep, err
			}
			continue
		}
		if req.Hold != 0 {
			sleep(time.Duration(req.Hold))
		} else {
			_ = sendMessage(fd, &stopReply{Inside: seq & 1})
			_ = receiveMessage(fd, new(stopMessage))
		}
		if seq&1 != 0 && peek(pid, slot) == seq {
			rep.Inside = 1
			if peek(pid, req.Counter) > graces+req.Slack {
				rep.Passed = 1
			}
		}
		return rep, release(tid, sig)
	}
}

// pickRunning picks a thread that is going through sections now, and does not
// sleep somewhere; the first one if there is none.
func pickRunning(pid int, req *stopMessage) (tid int, slot uint64) {
	var before [stopVictims]uint64
	for i, v := range req.Victims {
		before[i] = peek(pid, v.Slot)
	}
	for range 4 {
		for i, v := range req.Victims {
			if now := peek(pid, v.Slot); now != before[i] || now&1 != 0 {
				return int(v.TID), v.Slot
			}
		}
		sleep(10 * time.Microsecond)
	}
	return int(req.Victims[0].TID), req.Victims[0].Slot
}

// halt stops a thread. If it was about to get a signal, that is what stopped it,
// and goes to release.
func halt(tid int) (sig unix.Signal, err error) {
	if err := unix.PtraceSeize(tid); err != nil {
		return 0, err
	}
	if err := unix.PtraceInterrupt(tid); err != nil {
		return 0, err
	}
	var ws unix.WaitStatus
	for _, err = unix.Wait4(tid, &ws, unix.WALL, nil); err == unix.EINTR; {
		_, err = unix.Wait4(tid, &ws, unix.WALL, nil)
	}
	switch {
	case err != nil:
		return 0, err
	case !ws.Stopped():
		return 0, unix.ESRCH
	case ws.TrapCause() == unix.PTRACE_EVENT_STOP || ws.StopSignal() == unix.SIGTRAP:
		return 0, nil
	}
	return ws.StopSignal(), nil
}

func release(tid int, sig unix.Signal) error {
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(tid), 0, uintptr(sig), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func sleep(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	for unix.Nanosleep(&left, &left) == unix.EINTR {
	}
}

// peek reads 8 bytes of another process; 0 if there is nothing.
func peek(pid int, addr uint64) uint64 {
	if addr == 0 {
		return 0
	}
	var b [8]byte
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	if n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}, 0); err != nil || n != len(b) {
		return 0
	}
	return binary.NativeEndian.Uint64(b[:])
}

// slotAddr is where r's section counter is, 0 if the guard has none.
func slotAddr(r *Reader) uintptr { return uintptr(unsafe.Pointer(r.slot)) }
