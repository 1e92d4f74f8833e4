// SPDX-License-Identifier: Apache-2.0

package rtc

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func at(s string) func() time.Time {
	t, err := time.Parse("2006-01-02 15:04:05", s)
	if err != nil {
		panic(err)
	}
	return func() time.Time { return t }
}

func (k *Clock) get(i byte) byte {
	k.Write(0, []byte{i})
	var p [1]byte
	k.Read(1, p[:])
	return p[0]
}

func (k *Clock) set(i, b byte) {
	k.Write(0, []byte{i})
	k.Write(1, []byte{b})
}

var timeRegs = []byte{regCentury, regYear, regMonth, regDay, regWeekday, regHours, regMinutes, regSeconds}

func (k *Clock) time() string {
	var p []byte
	for _, r := range timeRegs {
		p = append(p, k.get(r))
	}
	return fmt.Sprintf("% x", p)
}

func TestTimeFormats(t *testing.T) {
	for _, c := range []struct {
		now  string
		b    byte
		want string // century year month day weekday hours minutes seconds
	}{
		{"2024-02-29 23:59:58", b24Hour, "20 24 02 29 05 23 59 58"},
		{"2024-02-29 23:59:58", b24Hour | bBinary, "14 18 02 1d 05 17 3b 3a"},
		{"2024-02-29 23:59:58", 0, "20 24 02 29 05 91 59 58"},
		{"2024-02-29 23:59:58", bBinary, "14 18 02 1d 05 8b 3b 3a"},
		{"1999-12-31 00:00:00", 0, "19 99 12 31 06 12 00 00"},
		{"1999-12-31 12:00:00", 0, "19 99 12 31 06 92 00 00"},
		{"1999-12-31 11:01:01", 0, "19 99 12 31 06 11 01 01"},
		{"2155-01-01 13:00:00", b24Hour, "21 55 01 01 04 13 00 00"},
		{"9999-12-31 13:00:00", b24Hour, "99 99 12 31 06 13 00 00"},
		{"0000-01-02 13:00:00", b24Hour, "00 00 01 02 01 13 00 00"},
	} {
		k := New(Config{Now: at(c.now)})
		k.set(regB, c.b)
		if got := k.time(); got != c.want {
			t.Errorf("%s mode %#x: %s, want %s", c.now, c.b, got, c.want)
		}
	}
}

func TestTheZoneIsUTC(t *testing.T) {
	zone := time.FixedZone("east", 5*3600)
	k := New(Config{Now: func() time.Time { return time.Date(2020, 1, 1, 3, 0, 0, 0, zone) }})
	if got := k.time(); got != "20 19 12 31 03 22 00 00" {
		t.Error(got)
	}
}

func TestStatusRegisters(t *testing.T) {
	k := New(Config{})
	if k.get(regA) != 0x26 || k.get(regB) != 0x02 || k.get(regC) != 0 || k.get(regD) != 0x80 {
		t.Errorf("%#x %#x %#x %#x", k.get(regA), k.get(regB), k.get(regC), k.get(regD))
	}
	k.set(regA, 0xff)
	k.set(regC, 0xff)
	k.set(regD, 0)
	if k.get(regA) != 0x7f || k.get(regC) != 0 || k.get(regD) != 0x80 {
		t.Error("an update in progress can be faked, or a read-only register changed")
	}
}

func TestIndexPort(t *testing.T) {
	k := New(Config{})
	k.set(0x8f, 0x5a) // NMI mask bit set
	if k.get(0x0f) != 0x5a {
		t.Error("bit 7 of the index counts")
	}
	var p [2]byte
	k.Write(0, []byte{0x0f, 0x77}) // one 16-bit write: index, data
	k.Read(0, p[:])
	if p != [2]byte{0xff, 0x77} {
		t.Errorf("% x", p)
	}
}

func TestMemorySizes(t *testing.T) {
	le := func(k *Clock, i byte, n int) (v uint64) {
		for j := range n {
			v |= uint64(k.get(i+byte(j))) << (8 * j)
		}
		return v
	}
	for _, c := range []struct {
		name                          string
		ram                           []Range
		base, ext, above16, aboveFour uint64
	}{
		{"none", nil, 0, 0, 0, 0},
		{"512 KiB", []Range{{0, 512 << 10}}, 512, 0, 0, 0},
		{"33 MiB", []Range{{0, 33 << 20}}, 640, 32 << 10, 17 << 4, 0},
		{"5 GiB", []Range{{0, 0xd0000000}, {1 << 32, 0x70000000}}, 640, 0xffff, 0xd0000000>>16 - 0x100, 0x70000000 >> 16},
		{"2 TiB", []Range{{0, 0xd0000000}, {1 << 32, 2 << 40}}, 640, 0xffff, 0xd0000000>>16 - 0x100, 0xffffff},
		{"across 4 GiB", []Range{{0, 5 << 30}}, 640, 0xffff, 0xff00, 1 << 14},
		{"wraps", []Range{{1 << 63, 1 << 63}}, 0, 0, 0, 0},
	} {
		k := New(Config{RAM: c.ram})
		if a, b, d, e, f := le(k, 0x15, 2), le(k, 0x17, 2), le(k, 0x30, 2), le(k, 0x34, 2), le(k, 0x5b, 3); a != c.base || b != c.ext || d != c.ext || e != c.above16 || f != c.aboveFour {
			t.Errorf("%s: %d %#x %#x %#x %#x", c.name, a, b, d, e, f)
		}
	}
}

func TestGuestSetsTheClock(t *testing.T) {
	now := at("2024-06-01 12:00:00")()
	k := New(Config{Now: func() time.Time { return now }})
	k.set(regB, b24Hour|bSet)
	for i, b := range []byte{0x20, 0x30, 0x01, 0x02, 0x01, 0x03, 0x04, 0x05} {
		k.set(timeRegs[i], b)
	}
	now = now.Add(time.Hour) // stopped while the bit is set
	if got := k.time(); got != "20 30 01 02 01 03 04 05" {
		t.Errorf("while set: %s", got)
	}
	k.set(regB, b24Hour)
	now = now.Add(time.Minute)
	if got := k.time(); got != "20 30 01 02 04 03 05 05" {
		t.Errorf("a minute later: %s", got)
	}
	k.set(regMinutes, 0x59) // without stopping the clock
	if got := k.time(); got != "20 30 01 02 04 03 59 05" {
		t.Errorf("minutes alone: %s", got)
	}
}

func TestNonsenseDoesNotSetTheClock(t *testing.T) {
	for _, c := range []struct{ reg, value byte }{
		{regMonth, 0x13}, {regMonth, 0}, {regDay, 0x31}, {regDay, 0}, {regHours, 0x24}, {regMinutes, 0x60}, {regSeconds, 0xff}, {regCentury, 0xff},
	} {
		k := New(Config{Now: at("2024-06-01 12:00:00")})
		before := k.time()
		k.set(c.reg, c.value)
		if got := k.time(); got != before {
			t.Errorf("register %#x = %#x made it %s", c.reg, c.value, got)
		}
	}
}

// TestSetTimeReadsBack: in every mode, a time written is the time read.
func TestSetTimeReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := New(Config{Now: at("2024-06-01 12:34:56")})
		want := time.Unix(rapid.Int64Range(-1<<33, 1<<34).Draw(t, "time"), 0).UTC()
		mode := rapid.SampledFrom([]byte{0, b24Hour, bBinary, b24Hour | bBinary}).Draw(t, "mode")
		model := New(Config{Now: func() time.Time { return want }})
		model.set(regB, mode)
		k.set(regB, mode|bSet)
		for _, r := range timeRegs {
			k.set(r, model.get(r))
		}
		k.set(regB, mode)
		if got := k.time(); got != model.time() {
			t.Fatalf("%v mode %#x: %s, want %s", want, mode, got, model.time())
		}
	})
}

func FuzzClock(f *testing.F) {
	f.Add([]byte{0x0b, 0x80, 0x32, 0x99, 0x09, 0x99, 0x0b, 0x06}, int64(0))
	f.Fuzz(func(t *testing.T, ops []byte, now int64) {
		k := New(Config{Now: func() time.Time { return time.Unix(now, 0) }})
		for ; len(ops) >= 2; ops = ops[2:] {
			k.set(ops[0], ops[1])
			if k.get(regA)&aUpdating != 0 {
				t.Fatal("update in progress")
			}
		}
		for i := range 256 {
			k.get(byte(i))
		}
	})
}
