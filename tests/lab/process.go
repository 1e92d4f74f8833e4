// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// process is a child that can't outlive this process.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and been waited for
	err  error         // valid after done
}

// startProcess starts cmd in a process group of its own, to be killed by the
// kernel when the thread that started it ends. For that to mean "when this
// process ends", one goroutine keeps the thread until the child has ended.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// kill ends the group and waits. It may be called again.
func (p *process) kill() {
	select {
	case <-p.done:
	default:
		// Not waited for yet, so the number is still its own.
		_ = unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL)
		<-p.done
	}
}

// memfd is an anonymous file of that size.
func memfd(name string, size int64) (*os.File, error) {
	fd, err := unix.MemfdCreate("xenvmm-lab-"+name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if err := f.Truncate(size); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
