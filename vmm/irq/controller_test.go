// SPDX-License-Identifier: Apache-2.0

package irq

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type msi struct {
	Addr uint64
	Data uint32
}

// fake is everything a controller talks to; lapicOff lists vCPUs whose LAPIC
// drops messages.
type fake struct {
	sent     []msi
	lapicOff map[uint64]bool
	kicked   []int
	pending  map[int]bool
	lines    map[uint32]*fakeLine
	ended    func()
	refuse   error
}

type fakeLine struct{ asserted, closed int }

func (f *fake) SignalMSI(addr uint64, data uint32) (bool, error) {
	f.sent = append(f.sent, msi{addr, data})
	return !f.lapicOff[addr], nil
}
func (f *fake) Kick(v int) { f.kicked = append(f.kicked, v) }
func (f *fake) Connect(gsi uint32, ended func()) (Line, error) {
	if f.refuse != nil {
		return nil, f.refuse
	}
	l := &fakeLine{}
	f.lines[gsi], f.ended = l, ended
	return l, nil
}
func (l *fakeLine) Assert() error { l.asserted++; return nil }
func (l *fakeLine) Close() error  { l.closed++; return nil }

func newFake(vcpus int) (*fake, *Controller) {
	f := &fake{lapicOff: map[uint64]bool{}, pending: map[int]bool{}, lines: map[uint32]*fakeLine{}}
	return f, New(Config{
		VCPUs: vcpus, APICID: func(v int) uint32 { return uint32(2 * v) },
		Sender: f, Lines: f, Kicker: f, Pending: func(v int) bool { return f.pending[v] },
	})
}

type injector struct {
	can bool
	got []uint8
}

func (i *injector) CanInject() bool      { return i.can }
func (i *injector) Inject(v uint8) error { i.got = append(i.got, v); return nil }

func TestOwnVectorIsSentToThatLAPICAndBeatsTheCallback(t *testing.T) {
	f, c := newFake(4)
	if err := c.SetCallback(Callback{Type: CallbackGSI, GSI: 1}); err != nil {
		t.Fatal(err)
	}
	c.SetVector(3, 0xf3)
	c.Upcall(3)
	if diff := cmp.Diff([]msi{{0xfee06000, 0x40f3}}, f.sent); diff != "" {
		t.Error(diff)
	}
	if f.lines[1].asserted != 0 {
		t.Error("a vCPU with its own vector was also interrupted by the callback line")
	}
}

func TestDroppedMessageIsOwedUntilTheLAPICTakesIt(t *testing.T) {
	f, c := newFake(2)
	c.SetVector(1, 0x50)
	f.lapicOff[0xfee02000] = true
	f.pending[1] = true
	c.Upcall(1)
	for range 3 {
		if !c.Owing() {
			t.Fatal("a dropped message is not owed")
		}
		c.Retry()
	}
	f.lapicOff[0xfee02000] = false
	c.Retry()
	if c.Owing() {
		t.Error("still owed after delivery")
	}
	if len(f.sent) != 5 {
		t.Errorf("%d messages, want 5", len(f.sent))
	}
}

func TestDroppedMessageIsSentAgainAtTheNextEntry(t *testing.T) {
	f, c := newFake(1)
	c.SetVector(0, 0x50)
	f.lapicOff[0xfee00000] = true
	f.pending[0] = true
	c.Upcall(0)
	f.lapicOff[0xfee00000] = false
	if err := c.Enter(0, &injector{}); err != nil || c.Owing() || len(f.sent) != 2 {
		t.Errorf("%v, owing %v, %d messages; want the second to settle it", err, c.Owing(), len(f.sent))
	}
}

func TestDebtIsForgottenWhenTheGuestTookTheEventByItself(t *testing.T) {
	f, c := newFake(1)
	c.SetVector(0, 0x50)
	f.lapicOff[0xfee00000] = true
	f.pending[0] = true
	c.Upcall(0)
	f.pending[0] = false
	c.Retry()
	if c.Owing() || len(f.sent) != 1 {
		t.Errorf("owing %v after %d messages, want false after 1", c.Owing(), len(f.sent))
	}
}

func TestVectorCallbackWaitsForInterruptsAndIsLevelLike(t *testing.T) {
	f, c := newFake(2)
	if err := c.SetCallback(Callback{Type: CallbackVector, Vector: 0xf3}); err != nil {
		t.Fatal(err)
	}
	f.pending[1] = true
	c.Upcall(1)
	if diff := cmp.Diff([]int{1}, f.kicked); diff != "" {
		t.Error(diff)
	}
	in := &injector{}
	enter := func() {
		t.Helper()
		if err := c.Enter(1, in); err != nil {
			t.Fatal(err)
		}
	}
	enter() // interrupts off
	if len(in.got) != 0 {
		t.Fatal("injected with interrupts off")
	}
	in.can = true
	enter()
	enter() // handler returned, upcall_pending still set: again
	if diff := cmp.Diff([]uint8{0xf3, 0xf3}, in.got); diff != "" {
		t.Error(diff)
	}
	f.pending[1] = false
	enter()
	if len(in.got) != 2 || c.Owing() {
		t.Errorf("%d injections, owing %v; want 2, false", len(in.got), c.Owing())
	}
	if len(f.sent) != 0 {
		t.Error("the vector callback went through the LAPIC")
	}
}

func TestRetryKicksForAVectorCallbackStillOwed(t *testing.T) {
	f, c := newFake(1)
	_ = c.SetCallback(Callback{Type: CallbackVector, Vector: 0x30})
	f.pending[0] = true
	c.Upcall(0)
	c.Retry()
	if len(f.kicked) != 2 || !c.Owing() {
		t.Errorf("%d kicks, owing %v; want 2, true", len(f.kicked), c.Owing())
	}
}

func TestLineFollowsThePendingUpcallAcrossEOIs(t *testing.T) {
	f, c := newFake(2)
	if err := c.SetCallback(Callback{Type: CallbackGSI, GSI: 9}); err != nil {
		t.Fatal(err)
	}
	c.Upcall(1) // only vCPU 0 is interrupted by the line
	if f.lines[9].asserted != 0 {
		t.Error("the line went up for vCPU 1")
	}
	f.pending[0] = true
	c.Upcall(0)
	f.ended()
	f.pending[0] = false
	f.ended()
	if got := f.lines[9].asserted; got != 2 {
		t.Errorf("asserted %d times, want 2", got)
	}
}

func TestChangingTheCallbackTakesTheOldLineDownAndRaisesAnew(t *testing.T) {
	f, c := newFake(2)
	_ = c.SetCallback(Callback{Type: CallbackGSI, GSI: 9})
	f.pending[0], f.pending[1] = true, true
	if err := c.SetCallback(Callback{Type: CallbackINTx, Device: 2, Pin: 1}); err != nil {
		t.Fatal(err)
	}
	if f.lines[9].closed != 1 {
		t.Error("the old line is still connected")
	}
	if l := f.lines[17]; l == nil || l.asserted != 1 {
		t.Errorf("lines %v, want GSI 17 asserted once", f.lines)
	}
	if err := c.Close(); err != nil || f.lines[17].closed != 1 {
		t.Errorf("Close: %v, closed %d", err, f.lines[17].closed)
	}
}

func TestUnusableCallbacksMeanNone(t *testing.T) {
	for _, cb := range []Callback{
		{},
		{Type: CallbackGSI, GSI: 0},
		{Type: CallbackGSI, GSI: 24},
		{Type: CallbackVector, Vector: 0x0f},
		{Type: 9},
	} {
		f, c := newFake(1)
		f.pending[0] = true
		if err := c.SetCallback(cb); err != nil {
			t.Errorf("%+v: %v", cb, err)
		}
		c.Upcall(0)
		if len(f.sent)+len(f.kicked)+len(f.lines) != 0 {
			t.Errorf("%+v interrupted the guest", cb)
		}
	}
}

func TestVectorsBelow16TakeTheVectorAway(t *testing.T) {
	f, c := newFake(1)
	c.SetVector(0, 0x20)
	c.SetVector(0, 0x0f)
	c.Upcall(0)
	if len(f.sent) != 0 {
		t.Error("sent with a vector that was taken away")
	}
}

func TestNumbersOutOfRangeAreIgnored(t *testing.T) {
	f, c := newFake(1)
	for _, v := range []int{-1, 1, 1 << 30} {
		c.SetVector(v, 0x20)
		c.Upcall(v)
	}
	if len(f.sent) != 0 {
		t.Error("a vCPU that does not exist was interrupted")
	}
}

func TestRefusedLineIsReported(t *testing.T) {
	f, c := newFake(1)
	f.refuse = errors.New("no")
	if err := c.SetCallback(Callback{Type: CallbackGSI, GSI: 5}); !errors.Is(err, f.refuse) {
		t.Errorf("error %v, want one that wraps the cause", err)
	}
}

func TestResetForgetsEverything(t *testing.T) {
	f, c := newFake(1)
	c.SetVector(0, 0x20)
	f.lapicOff[0xfee00000] = true
	f.pending[0] = true
	c.Upcall(0)
	if err := c.Reset(); err != nil {
		t.Fatal(err)
	}
	f.sent = nil
	c.Upcall(0)
	if c.Owing() || len(f.sent) != 0 {
		t.Errorf("owing %v, %d messages after reset", c.Owing(), len(f.sent))
	}
}

func TestCallbackSurvivesPacking(t *testing.T) {
	for _, cb := range []Callback{
		{}, {Type: CallbackGSI, GSI: 23}, {Type: CallbackINTx, Device: 31, Pin: 3}, {Type: CallbackVector, Vector: 0xff},
	} {
		if got := unpack(cb.pack()); got != cb {
			t.Errorf("packed %+v, got %+v", cb, got)
		}
	}
}

func BenchmarkUpcall(b *testing.B) {
	_, c := newFake(1)
	c.cfg.Sender = nullSender{}
	c.SetVector(0, 0x20)
	b.ReportAllocs()
	for b.Loop() {
		c.Upcall(0)
	}
}

type nullSender struct{}

func (nullSender) SignalMSI(uint64, uint32) (bool, error) { return true, nil }
