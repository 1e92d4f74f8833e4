// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"xenvmm/tests/lab/wire"
)

// program is one running program and its streams.
type program struct {
	id     uint32
	pid    int
	cgroup string
	credit *wire.Window
	stdin  *stdin
	done   chan struct{} // closed when the exit has been told
	// terminal is nil for a program with pipes.
	terminal *os.File
}

func cgroupDir(id uint32) string {
	return filepath.Join(programsDir, strconv.FormatUint(uint64(id), 10))
}

// startProgram starts e in its root. Its end is told on conn.
func startProgram(e *wire.Exec, conn *wire.Conn, reap *reaper) (*program, error) {
	root := rootDir(e.Root)
	if _, err := os.Stat(root); err != nil {
		return nil, fmt.Errorf("program without a root: %w", err)
	}
	p := &program{id: e.Root, cgroup: cgroupDir(e.Root), credit: wire.NewWindow(wire.StreamWindow), done: make(chan struct{})}
	if err := os.Mkdir(p.cgroup, 0o755); err != nil && !os.IsExist(err) {
		return nil, err
	}
	cg, err := os.Open(p.cgroup)
	if err != nil {
		return nil, err
	}
	defer cg.Close()
	ends, err := openStreams(root, e.Terminal)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	pid, dead, err := reap.start(func() (int, error) {
		return syscall.ForkExec(e.Path, e.Args, &syscall.ProcAttr{
			Dir:   e.Dir,
			Env:   e.Env,
			Files: ends.childFDs(),
			Sys: &syscall.SysProcAttr{Chroot: root, Setsid: true, Setctty: e.Terminal != nil,
				UseCgroupFD: true, CgroupFD: int(cg.Fd())},
		})
	})
	ends.closeChild()
	if err != nil {
		ends.close()
		_ = os.Remove(p.cgroup)
		return nil, fmt.Errorf("start %s: %w", e.Path, err)
	}
	p.pid, p.terminal = pid, ends.terminal
	p.stdin = newStdin(ends.in, func(n int) { _ = conn.WriteUint32(wire.KindStdinCredit, p.id, uint32(n)) })
	var streams sync.WaitGroup
	for kind, r := range ends.out {
		streams.Go(func() { p.forward(r, kind, conn) })
	}
	go p.finish(dead, &streams, started, conn)
	return p, nil
}

// forward sends a stream until everybody has closed its other end.
func (p *program) forward(r *os.File, kind wire.Kind, conn *wire.Conn) {
	defer r.Close()
	buf := make([]byte, wire.MaxData)
	for {
		n, err := r.Read(buf)
		for sent := 0; sent < n; {
			k, e := p.credit.Take(n - sent)
			if e != nil || conn.Write(kind, p.id, buf[sent:sent+k]) != nil {
				return
			}
			sent += k
		}
		if err != nil {
			return
		}
	}
}

// finish waits for the program's end, ends what it left behind and tells the
// exit after the last output.
func (p *program) finish(dead <-chan death, streams *sync.WaitGroup, started time.Time, conn *wire.Conn) {
	d := <-dead
	wall := time.Since(started)
	p.killAll()
	p.stdin.close()
	streams.Wait()
	x := wire.Exit{Wall: int64(wall), User: d.usage.Utime.Nano(), Sys: d.usage.Stime.Nano()}
	if d.status.Signaled() {
		x.Signal, x.Core, x.Code = int(d.status.Signal()), d.status.CoreDump(), 128+int(d.status.Signal())
	} else {
		x.Code = d.status.ExitStatus()
	}
	close(p.done)
	_ = conn.WriteJSON(wire.KindExit, p.id, x)
}

// signal reaches the program alone, as from a parent; SIGKILL reaches
// everything it started.
func (p *program) signal(sig unix.Signal) {
	select {
	case <-p.done:
		return // the process id may be somebody else's by now
	default:
	}
	if sig == unix.SIGKILL {
		p.killAll()
		return
	}
	_ = unix.Kill(p.pid, sig)
}

// resize changes the terminal's size; the kernel tells the program.
func (p *program) resize(rows, cols uint16) {
	if p.terminal != nil {
		_ = setSize(p.terminal, rows, cols)
	}
}

func (p *program) killAll() {
	_ = os.WriteFile(filepath.Join(p.cgroup, "cgroup.kill"), []byte("1"), 0)
}

// endLimit bounds the wait for a killed program: one that hangs in the kernel
// must not stop the others from being served.
const endLimit = 20 * time.Second

// end kills the program, if need be, and waits for its end.
func (p *program) end() {
	p.killAll()
	p.credit.Close()
	select {
	case <-p.done:
	case <-time.After(endLimit):
		fmt.Fprintf(os.Stderr, "lab init: program %d doesn't end though it was killed\n", p.id)
		return
	}
	// A killed process is a member until it has been waited for.
	for start := time.Now(); time.Since(start) < 2*time.Second; time.Sleep(time.Millisecond) {
		if os.Remove(p.cgroup) == nil {
			return
		}
	}
}
