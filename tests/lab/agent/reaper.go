// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
)

// death is what wait4 said of a process.
type death struct {
	status unix.WaitStatus
	usage  unix.Rusage
}

// reaper collects every process that ends: the programs, which somebody waits
// for, and orphans, which process 1 inherits and nobody asks about.
type reaper struct {
	mu   sync.Mutex // held from a fork until its child is in wait
	wait map[int]chan death
}

func newReaper() *reaper {
	r := &reaper{wait: map[int]chan death{}}
	c := make(chan os.Signal, 1) // one pending signal is enough: collect takes all
	signal.Notify(c, unix.SIGCHLD)
	go func() {
		for range c {
			r.collect()
		}
	}()
	return r
}

// start runs fork and returns where its child's end will be told.
func (r *reaper) start(fork func() (pid int, err error)) (int, <-chan death, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := fork()
	if err != nil {
		return 0, nil, err
	}
	c := make(chan death, 1)
	r.wait[pid] = c
	return pid, c, nil
}

func (r *reaper) collect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		var d death
		pid, err := unix.Wait4(-1, &d.status, unix.WNOHANG, &d.usage)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid == 0 {
			return
		}
		if c, ok := r.wait[pid]; ok {
			delete(r.wait, pid)
			c <- d
		}
	}
}
