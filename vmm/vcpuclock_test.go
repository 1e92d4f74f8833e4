// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"xenvmm/vmm/kvm"
	"xenvmm/xenshim/abi"
)

// pageAt is guest memory that holds one pvclock.
type pageAt struct {
	gpa  uint64
	page [pvclockSize]byte
}

func (m *pageAt) ReadAt(p []byte, gpa uint64) error {
	if gpa != m.gpa {
		return errors.New("no memory")
	}
	copy(p, m.page[:])
	return nil
}

func (m *pageAt) set(version uint32, tsc, system uint64, mul uint32, shift int8) {
	le := binary.LittleEndian
	le.PutUint32(m.page[0:], version)
	le.PutUint64(m.page[8:], tsc)
	le.PutUint64(m.page[16:], system)
	le.PutUint32(m.page[24:], mul)
	m.page[28] = byte(shift)
}

func TestPVClockCountsAsItsSpecificationSays(t *testing.T) {
	for _, c := range []struct {
		name  string
		clock pvclock
		tsc   uint64
		want  uint64
	}{
		{"1 GHz", pvclock{tsc: 100, time: 5000, mul: 1 << 31, shift: 1}, 350, 5250},
		{"4 GHz", pvclock{tsc: 0, time: 0, mul: 1 << 31, shift: -1}, 4000, 1000},
		{"a product of more than 64 bits", pvclock{mul: math.MaxUint32, shift: 0}, 1 << 40, 1<<40 - 256},
		{"before its time stamp", pvclock{tsc: 10, time: 1, mul: 1 << 31, shift: 1}, 9, maxGuestTime},
		{"a shift out of all bounds", pvclock{time: 7, mul: 1 << 31, shift: 127}, 1 << 60, 7},
		{"the other shift out of all bounds", pvclock{time: 7, mul: 1 << 31, shift: -128}, 1 << 60, 7},
		{"a time out of all bounds", pvclock{time: math.MaxUint64, mul: 1, shift: 0}, 1, maxGuestTime},
	} {
		if got := c.clock.at(c.tsc); got != c.want {
			t.Errorf("%s: %d ns, want %d", c.name, got, c.want)
		}
	}
}

func TestNoPageOfTheGuestsMakesATimeOutOfBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var page [pvclockSize]byte
		copy(page[:], rapid.SliceOfN(rapid.Byte(), pvclockSize, pvclockSize).Draw(t, "page"))
		c, _ := parsePVClock(&page)
		if got := c.at(rapid.Uint64().Draw(t, "tsc")); got > maxGuestTime {
			t.Fatalf("%d ns", got)
		}
	})
}

// aClock is a vCPU whose clock runs 1 ms behind the machine's.
func aClock() (*vcpuClocks, *pageAt, *fakeClock) {
	machine := &fakeClock{d: kvm.ClockData{Clock: 10_000_000}}
	times := newSystemTimes(2)
	mem := &pageAt{gpa: 0x5020}
	mem.set(2, 1000, 9_000_000, 1<<31, 1) // a tick is a nanosecond
	return newVCPUClocks(guestClock{machine}, times, mem), mem, machine
}

func TestAVCPUsDeadlinesAreMeasuredOnItsOwnClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := aClock()
		tsc := func() (uint64, uint64, error) { return 1500, 0x5021, nil }
		c.look(1, tsc)
		if c.Now(1) != 10_000_000 {
			t.Errorf("without a time area the machine's clock counts: %d", c.Now(1))
		}
		c.times.set(1, 0x5020, true)
		c.look(1, tsc)
		if c.Now(1) != 10_000_000 {
			t.Errorf("an area that KVM has not been told of counts: %d", c.Now(1))
		}
		c.times.cpus[1].changed.Store(false)
		c.look(1, tsc)
		if got := c.Now(1); got != 9_000_500 {
			t.Errorf("the vCPU's time is %d, want 9000500", got)
		}
		if got := c.Now(0); got != 10_000_000 {
			t.Errorf("another vCPU's is %d", got)
		}
		time.Sleep(time.Second)
		if got := c.Now(1); got != 1_009_000_500 {
			t.Errorf("a second later it is %d", got)
		}
		for deadline, want := range map[uint64]time.Duration{
			0: 0, 999: 0, 1_009_000_500: 0, 1_009_001_000: 500, ^uint64(0): 24 * time.Hour, 1 << 63: 24 * time.Hour,
		} {
			if got := c.Until(1, deadline); got != want {
				t.Errorf("until %d is %v, want %v", deadline, got, want)
			}
		}
	})
}

func TestAClockThatCannotBeReadIsLeftAsItWas(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(m *pageAt) error
	}{
		{"being written", func(m *pageAt) error { m.set(3, 0, 0, 1<<31, 1); return nil }},
		{"not filled in", func(m *pageAt) error { m.page = [pvclockSize]byte{}; return nil }},
		{"without memory", func(m *pageAt) error { m.gpa++; return nil }},
		{"no TSC", func(*pageAt) error { return errors.New("closed") }},
	} {
		synctest.Test(t, func(t *testing.T) {
			k, mem, _ := aClock()
			k.times.cpus[0].value.Store(0x5020 | 1)
			k.look(0, func() (uint64, uint64, error) { return 1000, 0x5021, nil })
			err := c.spoil(mem)
			k.look(0, func() (uint64, uint64, error) { return 77777, 0x5021, err })
			if got := k.Now(0); got != 9_000_000 {
				t.Errorf("%s: %d, want 9000000", c.name, got)
			}
		})
	}
}

func TestAClockReadByAPreemptedThreadIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, _, _ := aClock()
		k.times.cpus[0].value.Store(0x5020 | 1)
		start, tries := time.Now(), 0
		k.look(0, func() (uint64, uint64, error) {
			ticks := 1000 + uint64(time.Since(start))
			if tries++; tries < 3 {
				time.Sleep(4 * time.Millisecond) // after the counter has been read
			}
			return ticks, 0x5021, nil
		})
		if got, want := k.Now(0), uint64(9_000_000+time.Since(start)); got != want || tries != 3 {
			t.Errorf("%d after %d tries, want %d after 3", got, tries, want)
		}
	})
}

// KVM resets the vCPU for an INIT and its pvclock with it.
func TestAPVClockThatKVMHasForgottenIsSetAgain(t *testing.T) {
	k, _, _ := aClock()
	k.times.set(0, 0x5020, true)
	cpu := &msrKVM{}
	if err := k.times.apply(0, cpu); err != nil {
		t.Fatal(err)
	}
	k.look(0, func() (uint64, uint64, error) { return 77777, 0, nil })
	if got := k.Now(0); got != 10_000_000 {
		t.Errorf("a page that nobody keeps counts: %d", got)
	}
	if err := k.times.apply(0, cpu); err != nil {
		t.Fatal(err)
	}
	if want := (kvm.MSREntry{Index: kvm.MSRSystemTime, Data: 0x5021}); len(cpu.set) != 2 || cpu.set[1] != want {
		t.Errorf("set: %+v, want twice %+v", cpu.set, want)
	}
	k.look(0, func() (uint64, uint64, error) { return 1000, 0x5021, nil })
	if got := k.Now(0); got < 9_000_000 || got >= 10_000_000 {
		t.Errorf("afterwards it is %d", got)
	}
}

func TestOnlyCallsThatDependOnTheTimeLookAtTheClock(t *testing.T) {
	for _, c := range []struct {
		nr   uint64
		cmd  uint32
		want bool
	}{
		{abi.HypercallSetTimerOp, 0, true},
		{abi.HypercallVCPUOp, abi.VCPUOpSetSingleshotTimer, true},
		{abi.HypercallMulticall, 0, true}, // any of its calls may be one
		{abi.HypercallSchedOp, abi.SchedopPoll, true},
		{abi.HypercallSchedOp, abi.SchedopYield, false},
		{abi.HypercallSchedOp, abi.SchedopBlock, false},
		{abi.HypercallEventChannelOp, abi.SchedopPoll, false},
	} {
		if got := setsTimers(c.nr, c.cmd); got != c.want {
			t.Errorf("hypercall %d, command %d: %v", c.nr, c.cmd, got)
		}
	}
}
