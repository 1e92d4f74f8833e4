// SPDX-License-Identifier: Apache-2.0

package reset

import (
	"fmt"
	"testing"
)

type recorder []string

func (r *recorder) ended(how string) { *r = append(*r, how) }

type dev interface {
	Read(off uint64, p []byte)
	Write(off uint64, p []byte)
}

func get(d dev, off uint64) byte {
	var p [1]byte
	d.Read(off, p[:])
	return p[0]
}

func set(d dev, off uint64, b ...byte) { d.Write(off, b) }

func TestKeyboardResetCommands(t *testing.T) {
	for c := range 256 {
		var r recorder
		k := NewKeyboard(r.ended)
		set(k.Command(), 0, byte(c))
		if want := c >= 0xf0 && c&1 == 0; (len(r) == 1) != want {
			t.Errorf("command %#x: %v", c, r)
		}
	}
}

func TestKeyboardOutputPort(t *testing.T) {
	var r recorder
	k := NewKeyboard(r.ended)
	set(k.Data(), 0, 0xfe) // no command before it
	set(k.Command(), 0, 0xd1)
	set(k.Data(), 0, 0xdf) // A20 on, reset line up
	if len(r) != 0 {
		t.Fatal(r)
	}
	set(k.Command(), 0, 0xd0)
	if got := get(k.Data(), 0); got != 0xdf {
		t.Errorf("output port %#x", got)
	}
	set(k.Command(), 0, 0xd1)
	set(k.Data(), 0, 0xde)
	if fmt.Sprint(r) != "[keyboard controller output port]" {
		t.Error(r)
	}
}

func TestKeyboardStatusNeverKeepsAnyoneWaiting(t *testing.T) {
	k := NewKeyboard(func(string) {})
	for range 3 {
		if s := get(k.Command(), 0); s&3 != 0 || s&statusSystem == 0 {
			t.Errorf("status %#x", s)
		}
		get(k.Data(), 0)
	}
	for cmd, want := range map[byte]byte{0xaa: 0x55, 0xab: 1, 0xa9: 1, 0x20: configDefault} {
		set(k.Command(), 0, cmd)
		if s := get(k.Command(), 0); s&statusOutputFull == 0 || s&statusCommand == 0 || s&2 != 0 {
			t.Errorf("status %#x after %#x", s, cmd)
		}
		if got := get(k.Data(), 0); got != want {
			t.Errorf("command %#x answers %#x, want %#x", cmd, got, want)
		}
		if s := get(k.Command(), 0); s&statusOutputFull != 0 {
			t.Errorf("output still full after the answer to %#x", cmd)
		}
	}
	set(k.Command(), 0, 0x60)
	set(k.Data(), 0, 0x47)
	set(k.Command(), 0, 0x20)
	if got := get(k.Data(), 0); got != 0x47 {
		t.Errorf("configuration %#x", got)
	}
}

func TestControlPorts(t *testing.T) {
	for _, c := range []struct {
		name   string
		dev    func(Func) dev
		writes []byte
		resets int
		reads  byte
	}{
		{"92: rising bit", func(f Func) dev { return NewControlA(f) }, []byte{0, 1}, 1, 1},
		{"92: staying up", func(f Func) dev { return NewControlA(f) }, []byte{1, 1, 3}, 1, 3},
		{"92: twice", func(f Func) dev { return NewControlA(f) }, []byte{1, 0, 1}, 2, 1},
		{"92: A20 only", func(f Func) dev { return NewControlA(f) }, []byte{2, 0}, 0, 0},
		{"cf9: as Linux", func(f Func) dev { return NewControl(f) }, []byte{2, 6}, 1, 2},
		{"cf9: full reset", func(f Func) dev { return NewControl(f) }, []byte{0x0e}, 1, 0x0a},
		{"cf9: type only", func(f Func) dev { return NewControl(f) }, []byte{0x02, 0xf1}, 0, 0},
		{"sleep: S5", func(f Func) dev { return NewSleep(f) }, []byte{0x34}, 1, 0},
		{"sleep: no enable bit", func(f Func) dev { return NewSleep(f) }, []byte{0x14}, 0, 0},
		{"sleep: S3", func(f Func) dev { return NewSleep(f) }, []byte{0x20 | 3<<2}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r recorder
			d := c.dev(r.ended)
			for _, b := range c.writes {
				set(d, 0, b)
			}
			if len(r) != c.resets || get(d, 0) != c.reads {
				t.Errorf("%v, reads %#x", r, get(d, 0))
			}
		})
	}
}

func TestSleepStatusIsNotControl(t *testing.T) {
	var r recorder
	s := NewSleep(r.ended)
	set(s, 1, 0x34)
	if len(r) != 0 {
		t.Error("writing the status register powered off")
	}
	set(s, 0, 0x34, 0x80)
	if len(r) != 1 {
		t.Error("16-bit write did not power off")
	}
}

func FuzzKeyboard(f *testing.F) {
	f.Add([]byte{1, 0xd1, 0, 0xfe, 1, 0xfe})
	f.Fuzz(func(t *testing.T, ops []byte) {
		n := 0
		k := NewKeyboard(func(string) { n++ })
		for ; len(ops) >= 2; ops = ops[2:] {
			if ops[0]&1 != 0 {
				set(k.Command(), 0, ops[1])
			} else {
				set(k.Data(), 0, ops[1])
			}
			if get(k.Command(), 0)&2 != 0 {
				t.Fatal("input buffer full")
			}
			get(k.Data(), 0)
			if get(k.Command(), 0)&1 != 0 {
				t.Fatal("output buffer full after a read")
			}
		}
	})
}
