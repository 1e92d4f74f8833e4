// SPDX-License-Identifier: Apache-2.0

package srcu

import (
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"

	"xenvmm/gpc/srcu/rseq"
)

// elsewhere is a processor that this machine does not have, nowhere that of a
// thread that the kernel has told nothing.
const (
	elsewhere = 1 << 20
	nowhere   = -1
)

// A puppet is a restartable reader whose thread is wherever the test says.
type puppet struct {
	*Reader
	at *int32
}

func newPuppet(t *testing.T, d *Domain, cpu int32) puppet {
	t.Helper()
	r := d.NewReader()
	p := puppet{r, &cpu}
	r.slot.mode.Store(ModeRestartable)
	r.slot.area.Store(uintptr(unsafe.Pointer(p.at)))
	t.Cleanup(func() {
		runtime.KeepAlive(p.at)
		r.Close()
	})
	return p
}

func (p puppet) move(cpu int32) { atomic.StoreInt32(p.at, cpu) }

// A section is dropped if its thread cannot be running, and for no other reason.
func TestASectionIsDroppedOnlyIfItsThreadIsSeenNotToRun(t *testing.T) {
	type neighbour struct {
		before, after int32 // its processor before and after the updater has first looked
		moves         bool  // its counter changes in between
	}
	for _, tt := range []struct {
		name    string
		cpu     int32
		others  []neighbour
		dropped bool
	}{
		{"alone, elsewhere", elsewhere, nil, false},
		{"alone, nowhere", nowhere, nil, false},
		{"another reader gets on there", elsewhere, []neighbour{{elsewhere, elsewhere, true}}, true},
		{"another reader is there and does nothing", elsewhere, []neighbour{{elsewhere, elsewhere, false}}, false},
		{"another reader gets on somewhere else", elsewhere, []neighbour{{elsewhere + 1, elsewhere + 1, true}}, false},
		{"it was there and gets on somewhere else", elsewhere, []neighbour{{elsewhere, elsewhere + 1, true}}, false},
		{"it comes from somewhere else and gets on there", elsewhere, []neighbour{{elsewhere, elsewhere, false}, {elsewhere + 1, elsewhere, true}}, true},
		{"neither is anywhere", nowhere, []neighbour{{nowhere, nowhere, true}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := New(Options{})
			a := newPuppet(t, d, tt.cpu)
			var others []puppet
			for _, o := range tt.others {
				others = append(others, newPuppet(t, d, o.before))
			}
			a.slot.begin()
			defer a.slot.end()
			p := new(pending)
			p.snapshot(d)
			p.look(d)
			for i, o := range tt.others {
				others[i].move(o.after)
				if o.moves {
					others[i].slot.begin()
					others[i].slot.end()
				}
			}
			p.hear(false)
			if dropped := len(p.sections) == 0; dropped != tt.dropped || p.seen != tt.dropped {
				t.Errorf("dropped: %v, told so: %v, want %v", dropped, p.seen, tt.dropped)
			}
		})
	}
}

func TestTheUpdaterIsAWitnessItself(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d := New(Options{})
	a, plain := newPuppet(t, d, rseq.CurrentCPU()), d.NewReader()
	defer plain.Close()
	a.slot.begin()
	defer a.slot.end()
	plain.Enter()
	defer plain.Exit()
	dropped := false
	for range 1000 { // it may be moved to another processor in between
		a.move(rseq.CurrentCPU())
		p := new(pending)
		p.snapshot(d)
		p.look(d)
		p.hear(true)
		if len(p.sections) == 0 {
			t.Fatal("a section that is not restartable was dropped")
		}
		if dropped = len(p.sections) == 1 && p.seen; dropped {
			break
		}
	}
	if !dropped {
		t.Error("a section on the updater's own processor was not dropped")
	}
}

func TestTheProcessorOfAThreadIsKnownWhileItHasTheSlot(t *testing.T) {
	d := New(Options{})
	r := threadReader(t, d)
	s := r.slot
	if cpu := s.cpu(); cpu < 0 {
		t.Errorf("processor %d of a running thread", cpu)
	}
	agree := false
	for range 1000 { // the thread may move in between
		if agree = s.cpu() == rseq.CurrentCPU(); agree {
			break
		}
	}
	if !agree {
		t.Error("the thread's area and getcpu(2) do not agree")
	}
	r.Close()
	if cpu := s.cpu(); cpu >= 0 {
		t.Errorf("processor %d of no thread", cpu)
	}
	// The memory of a thread that has ended is not read, whoever has it now.
	if _, ok := rseq.PeekCPU(4096); ok {
		t.Error("read what is not mapped")
	}
}
