// SPDX-License-Identifier: Apache-2.0

package srcu

import (
	"fmt"

	"xenvmm/gpc/srcu/rseq"
)

// A Wait is a way to get a grace period over after it has spun for a while.
type Wait string

const (
	// WaitBest is the first of the others that works here.
	WaitBest Wait = ""
	// WaitRseq has the kernel restart the sections of thread readers, and sleeps
	// on futexes for others.
	WaitRseq Wait = "rseq"
	// WaitFutex sleeps on futexes for all.
	WaitFutex Wait = "futex"
	// WaitSleep looks again every now and then, sleeping in between.
	WaitSleep Wait = "sleep"
)

// A waitPolicy is one of them.
type waitPolicy interface {
	name() Wait
	// attach returns what makes a reader of the calling thread restartable, or
	// nil: then its slot is plain.
	attach() *rseq.Area
	// fence drops restartable sections from p without sleeping, if it can, and
	// reports whether it made the kernel restart any.
	fence(d *Domain, p *pending) bool
	// await returns when every section in p has ended or was restarted, and
	// reports whether any was.
	await(d *Domain, p *pending) (aborted bool)
}

// choosePolicy returns the policy asked for, or the next worse one that works.
func choosePolicy(want Wait) waitPolicy {
	switch want {
	case WaitBest, WaitRseq:
		if rseq.Probe() == nil {
			return rseqWait{rseq.Fence}
		}
		fallthrough
	case WaitFutex:
		if futexWorks() {
			return futexWait{}
		}
		fallthrough
	case WaitSleep:
		return sleepWait{}
	}
	panic(fmt.Sprintf("srcu: unknown wait policy %q: use %q, %q or %q", want, WaitRseq, WaitFutex, WaitSleep))
}

// Mode names the policy in use.
func (d *Domain) Mode() Wait { return d.policy.name() }

// Probe reports which policy a new Domain uses for thread readers, and if that is
// not WaitRseq, what is in its way and what to do about it. It tries everything
// out, on a thread of its own.
func Probe() (Wait, error) {
	err := rseq.Try()
	if err == nil {
		return WaitRseq, nil
	}
	return choosePolicy(WaitFutex).name(), err
}
