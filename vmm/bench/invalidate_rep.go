// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"xenvmm/xenshim/abi"
)

// A drainResult is one repetition under one guard.
type drainResult struct {
	drains, stopped durations
	overMilli       uint64
	missed          float64 // share of drains off the fast path
	witnessed       float64 // share that found a reader to have lost its processor
	fenced          float64 // share that had the kernel restart sections
	deliveries      float64 // per second, of all readers
	foreign         float64 // share of the machine that other processes and the hypervisor had
}

// one measures a load for about d.
func (e *drainRun) one(ctx context.Context, l drainLoad, guard string, d time.Duration) (drainResult, error) {
	dom, err := e.domain(l, guard)
	if err != nil {
		return drainResult{}, err
	}
	if l.goroutines {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(len(e.cpus)))
	}
	runtime.GC() // now, and not while drains are measured
	updaters, readers, err := e.members(l, dom)
	if err != nil {
		return drainResult{}, err
	}
	var (
		stop    atomic.Bool
		started sync.WaitGroup
		g       = group{e: e, goroutines: l.goroutines}
	)
	started.Add(l.readers)
	g.start(l.readers, func(i int) {
		r := readers[i]
		if l.goroutines {
			r.r = dom.set.NewReader()
		} else {
			r.r = dom.set.NewThreadReader()
		}
		defer r.r.Close()
		r.run(started.Done, &stop)
	})
	started.Wait()
	from, _ := readMachineTime()
	begin := time.Now()
	g.start(l.updaters(), func(i int) { updaters[i].run(&stop) })
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	span := time.Since(begin).Seconds()
	stop.Store(true)
	g.wait()
	to, _ := readMachineTime()
	res, err := collect(dom, updaters, readers, span)
	steal, foreign := taken(from, to)
	res.foreign = steal + foreign
	return res, err
}

func (e *drainRun) domain(l drainLoad, guard string) (*domain, error) {
	shared, vcpus := make([]uint64, l.shared), make([]uint64, max(l.vcpus, l.readers))
	for i := range shared {
		shared[i] = sharedAt(i)
	}
	for i := range vcpus {
		if vcpus[i] = vcpuAt(i); l.updateVCPU {
			vcpus[i] = vcpuPageAt(i) // so that an invalidation hits one cache
		}
	}
	return newDomain(e.mem, guard, shared, vcpus)
}

// members makes the updaters and readers of a repetition, each of the latter
// with a vCPU and words of its own.
func (e *drainRun) members(l drainLoad, d *domain) (updaters []*updater, readers []*drainReader, err error) {
	for i := range l.updaters() {
		u := &updater{set: d.set, pace: l.pace, goroutine: l.goroutines}
		if k := i % l.updated(); k < l.shared {
			u.cache, u.gpa, u.n = d.shared[k], sharedAt(k), pageSize
		} else {
			u.cache, u.gpa, u.n = d.vcpus[k-l.shared], vcpuPageAt(k-l.shared), abi.VCPUInfoSize
		}
		updaters = append(updaters, u)
	}
	for i := range l.readers {
		r := new(drainReader)
		if l.work {
			r.spins = e.spins
		}
		for _, c := range d.shared {
			s := signal(c, d.vcpus[i], portOf(LayoutSpread, i))
			guest, err := newConsumer(d, s, true)
			if err != nil {
				return nil, nil, err
			}
			r.sigs, r.guests = append(r.sigs, s), append(r.guests, guest)
		}
		readers = append(readers, r)
	}
	return updaters, readers, nil
}

// collect sums up, and checks that every transaction was measured.
func collect(d *domain, updaters []*updater, readers []*drainReader, span float64) (res drainResult, err error) {
	for _, u := range updaters {
		err = errors.Join(err, u.err)
		res.drains.merge(&u.drains)
		res.stopped.merge(&u.stopped)
		res.overMilli += u.overMilli
	}
	var faults uint64
	for _, r := range readers {
		res.deliveries += float64(r.count) / span
		faults += r.faults
	}
	st := d.set.Stats()
	if st.Invalidations != res.drains.n || st.FastPath+st.SlowPath != res.drains.n || faults != 0 {
		err = errors.Join(err, fmt.Errorf("%d drains were measured, %d deliveries failed, and the set counts %+v: the guard or the bench is broken", res.drains.n, faults, st))
	}
	share := func(n uint64) float64 { return float64(n) / float64(res.drains.n) }
	res.missed, res.witnessed, res.fenced = share(st.SlowPath), share(st.Witnessed), share(st.Fenced)
	return res, err
}
