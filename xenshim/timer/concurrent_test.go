// SPDX-License-Identifier: Apache-2.0

package timer

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bubble is an Alarm and Clock on the fake time of a synctest bubble.
type bubble struct {
	start  time.Time
	timers *Timers
	mu     sync.Mutex
	bells  map[int]*time.Timer
}

func newBubble() *bubble { return &bubble{start: time.Now(), bells: map[int]*time.Timer{}} }

func (b *bubble) GuestTime(int) uint64 { return uint64(time.Since(b.start)) }

func (b *bubble) Arm(vcpu int, deadline uint64) {
	b.Disarm(vcpu)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bells[vcpu] = time.AfterFunc(time.Duration(deadline-b.GuestTime(0)), func() { b.timers.Expired(vcpu) })
}

func (b *bubble) Disarm(vcpu int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bell := b.bells[vcpu]; bell != nil {
		bell.Stop()
	}
}

func TestErrorDoesNotGrowWithUptime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble()
		var at atomic.Uint64
		b.timers = New(1, b, b, func(int) { at.Store(b.GuestTime(0)) })
		for _, uptime := range []time.Duration{0, time.Hour, 30 * 24 * time.Hour} {
			time.Sleep(uptime) // fake time of the bubble
			for range 1000 {
				want := b.GuestTime(0) + 100_000
				b.timers.SetSingleshot(0, want)
				time.Sleep(time.Millisecond)
				synctest.Wait()
				if got := at.Load(); got != want {
					t.Fatalf("uptime %v: fired at %d, want %d", uptime, got, want)
				}
			}
		}
	})
}

func TestPeriodicCountsExactlyOverAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble()
		var n atomic.Int64
		b.timers = New(1, b, b, func(int) { n.Add(1) })
		b.timers.SetPeriodic(0, 10_000_000)
		time.Sleep(time.Hour)
		synctest.Wait()
		b.timers.StopPeriodic(0)
		if got := n.Load(); got != 360_000 {
			t.Fatalf("%d ticks in an hour of 10 ms, want 360000", got)
		}
	})
}

// Alarms ring while the guest sets, stops and resets. Under the race detector
// this is also the proof that fire needs no lock of its own.
func TestAlarmsMayRingWhileTimersChange(t *testing.T) {
	var clock fakeClock
	var inside, fired [2]int // plain: guarded by the vCPU's lock
	timers := New(2, newFakeAlarm(), &clock, func(vcpu int) {
		inside[vcpu]++
		if inside[vcpu] != 1 {
			t.Error("fire runs twice at a time")
		}
		fired[vcpu]++
		inside[vcpu]--
	})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range uint64(2000) {
				vcpu := int(i) % 2
				switch g {
				case 0:
					timers.SetSingleshot(vcpu, clock.GuestTime(0)+i%3)
				case 1:
					timers.SetPeriodic(vcpu, ms)
					timers.StopSingleshot(vcpu)
				case 2:
					clock.ns.Add(ms / 4)
					timers.Expired(vcpu)
				case 3:
					timers.StopPeriodic(vcpu)
					if i%100 == 0 {
						timers.Reset()
					}
				}
			}
		})
	}
	wg.Wait()
	timers.Reset()
	if fired[0]+fired[1] == 0 {
		t.Fatal("nothing fired")
	}
}

// No event after a stop has returned, whatever alarm was on its way.
func TestNothingFiresAfterStop(t *testing.T) {
	var clock fakeClock
	var stopped atomic.Bool
	timers := New(1, newFakeAlarm(), &clock, func(int) {
		if stopped.Load() {
			t.Error("fired after the stop returned")
		}
	})
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				clock.ns.Add(1)
				timers.Expired(0)
			}
		}
	})
	for range 2000 {
		stopped.Store(false)
		timers.SetSingleshot(0, clock.GuestTime(0)+2)
		timers.StopSingleshot(0)
		stopped.Store(true)
	}
	close(done)
	wg.Wait()
}

// model is the slow and obvious version: it walks time one step at a time.
type model struct {
	now           uint64
	shot          uint64
	armed         bool
	period, since uint64
	fired         int64
}

func (m *model) step() {
	m.now++
	due := m.armed && m.shot == m.now
	if due {
		m.armed = false
	}
	if m.period != 0 && (m.now-m.since)%m.period == 0 {
		due = true
	}
	if due {
		m.fired++
	}
}

func TestTimersMatchASlowModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRig(1)
		m := &model{}
		const unit = ms / 2 // the model's step
		t.Repeat(map[string]func(*rapid.T){
			"shot": func(t *rapid.T) {
				d := m.now + rapid.Uint64Range(0, 20).Draw(t, "ahead")
				r.SetSingleshot(0, d*unit)
				if m.shot, m.armed = d, d > m.now; !m.armed {
					m.fired++
				}
			},
			"op": func(t *rapid.T) {
				d := m.now + rapid.Uint64Range(1, 20).Draw(t, "ahead")
				r.SetTimerOp(0, d*unit)
				m.shot, m.armed = d, true
			},
			"stop": func(t *rapid.T) { r.StopSingleshot(0); m.armed = false },
			"periodic": func(t *rapid.T) {
				p := rapid.Uint64Range(2, 9).Draw(t, "period")
				r.SetPeriodic(0, p*unit)
				m.period, m.since = p, m.now
			},
			"stop periodic": func(t *rapid.T) { r.StopPeriodic(0); m.period = 0 },
			"advance": func(t *rapid.T) {
				for range rapid.IntRange(1, 30).Draw(t, "steps") {
					m.step()
				}
				r.advance(m.now * unit)
			},
			"needless alarm": func(t *rapid.T) { r.Expired(0) },
			"": func(t *rapid.T) {
				if got := r.fired[0].Load(); got != m.fired {
					t.Fatalf("%d events, model has %d", got, m.fired)
				}
			},
		})
	})
}

func FuzzDeadlines(f *testing.F) {
	f.Add(uint64(0), uint64(1), uint64(ms), uint64(5))
	f.Add(uint64(1)<<62, uint64(1)<<63, uint64(1)<<62-1, uint64(1)<<50)
	f.Fuzz(func(t *testing.T, now, abs, period, forward uint64) {
		now &= 1<<62 - 1
		r := newRig(1)
		r.clock.ns.Store(now)
		r.SetTimerOp(0, abs)
		r.SetPeriodic(0, period)
		r.SetSingleshot(0, abs)
		r.clock.ns.Store(now + forward&(1<<61-1))
		r.Expired(0)
		r.Expired(0)
		if d, ok := r.alarm.at(0); ok && int64(d) <= int64(r.clock.ns.Load()) {
			t.Fatalf("alarm armed for %d, in the past of %d", d, r.clock.ns.Load())
		}
		if n := r.fired[0].Load(); n > 3 {
			t.Fatalf("%d events from two timers", n)
		}
	})
}
