// SPDX-License-Identifier: Apache-2.0

package pcihost

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

// space is a function with 256 bytes that all differ.
type space struct {
	t    testing.TB
	data [256]byte
}

func newSpace(t testing.TB) *space {
	s := &space{t: t}
	for i := range s.data {
		s.data[i] = byte(i)
	}
	return s
}

func (s *space) ReadConfig(reg uint8, p []byte) {
	if int(reg)%4+len(p) > 4 {
		s.t.Errorf("access of %d at %#x crosses a double word", len(p), reg)
	}
	copy(p, s.data[reg:])
}
func (s *space) WriteConfig(reg uint8, p []byte) { copy(s.data[reg:], p) }

func (h *Host) outl(off uint64, v uint32) { h.Write(off, binary.LittleEndian.AppendUint32(nil, v)) }
func (h *Host) in(off uint64, n int) []byte {
	p := make([]byte, n)
	h.Read(off, p)
	return p
}
func (h *Host) inl(off uint64) uint32 { return binary.LittleEndian.Uint32(h.in(off, 4)) }

func TestAddressRegister(t *testing.T) {
	h := New(nil)
	for v, want := range map[uint32]uint32{0: 0, 0x80000000: 0x80000000, 0xffffffff: 0x80fffffc, 0x80001043: 0x80001040, 0x7f000000: 0} {
		h.outl(0, v)
		if got := h.inl(0); got != want {
			t.Errorf("wrote %#x, read %#x, want %#x", v, got, want)
		}
	}
	// As Linux probes for mechanism 1: a byte write must not get through.
	h.outl(0, 0)
	h.Write(3, []byte{1})
	h.Write(0, []byte{0xff, 0xff})
	if h.inl(0) != 0 {
		t.Error("a partial write changed the address")
	}
	if got := h.in(0, 2); !bytes.Equal(got, []byte{0xff, 0xff}) {
		t.Errorf("partial read % x", got)
	}
}

func TestEmptyBusReadsAllOnes(t *testing.T) {
	h := New(nil)
	for dev := range uint32(32) {
		h.outl(0, enableBit|dev<<11)
		if h.inl(4) != 0xffffffff {
			t.Errorf("device %d answers", dev)
		}
	}
	h.outl(4, 0x1234) // dropped
}

func TestConfigAccess(t *testing.T) {
	h := New(nil)
	s := newSpace(t)
	if err := h.Plug(2<<3|1, s); err != nil {
		t.Fatal(err)
	}
	at := func(reg uint32) uint32 { return enableBit | 2<<11 | 1<<8 | reg }
	h.outl(0, at(0x40))
	for _, c := range []struct {
		off  uint64
		want []byte
	}{
		{4, []byte{0x40, 0x41, 0x42, 0x43}}, {4, []byte{0x40}}, {7, []byte{0x43}}, {6, []byte{0x42, 0x43}}, {5, []byte{0x41, 0x42}},
		{7, []byte{0x43, 0xff}}, {6, []byte{0x42, 0x43, 0xff, 0xff}},
	} {
		if got := h.in(c.off, len(c.want)); !bytes.Equal(got, c.want) {
			t.Errorf("offset %d: % x, want % x", c.off, got, c.want)
		}
	}
	h.outl(0, at(0xfc))
	if got := h.inl(4); got != 0xfffefdfc {
		t.Errorf("last register %#x", got)
	}
	h.Write(6, []byte{7, 8})
	if s.data[0xfe] != 7 || s.data[0xff] != 8 {
		t.Error("16-bit write did not arrive")
	}
	for name, addr := range map[string]uint32{
		"enable bit clear": at(0) &^ enableBit, "other function": at(0) &^ 0x100, "other device": at(0) ^ 8<<11, "bus 1": at(0) | 1<<16,
	} {
		h.outl(0, addr)
		h.outl(4, 0)
		if h.inl(4) != 0xffffffff || s.data[0] != 0 || s.data[1] != 1 {
			t.Errorf("%s: answered", name)
		}
	}
}

func TestPlug(t *testing.T) {
	h := New(nil)
	if err := h.Plug(8, newSpace(t)); err != nil {
		t.Fatal(err)
	}
	if err := h.Plug(8, newSpace(t)); !errors.Is(err, ErrTaken) {
		t.Errorf("error %v", err)
	}
	if err := h.Plug(8, nil); err != nil {
		t.Fatal(err)
	}
	h.outl(0, enableBit|8<<8)
	if h.inl(4) != 0xffffffff {
		t.Error("still there")
	}
}

// latch is a register of one byte.
type latch byte

func (l *latch) Read(_ uint64, p []byte)  { p[0] = byte(*l) }
func (l *latch) Write(_ uint64, p []byte) { *l = latch(p[0]) }

func TestResetRegisterBesideTheAddress(t *testing.T) {
	var l latch
	h := New(&l)
	h.outl(0, 0x80000600) // the double word covers the port, but is not for it
	if l != 0 {
		t.Error("an address write reached the reset register")
	}
	h.Write(1, []byte{6})
	if l != 6 || h.in(1, 1)[0] != 6 || h.inl(0) != 0x80000600 {
		t.Errorf("register %d, address %#x", l, h.inl(0))
	}
	if New(nil).in(1, 1)[0] != 0xff {
		t.Error("no register, but an answer")
	}
}

func FuzzHost(f *testing.F) {
	f.Add([]byte{0x80, 0, 0x11, 0, 0x80, 4, 4})
	f.Fuzz(func(t *testing.T, ops []byte) {
		var l latch
		h := New(&l)
		_ = h.Plug(0, newSpace(t))
		_ = h.Plug(255, newSpace(t))
		for len(ops) >= 2 {
			off := uint64(ops[0] & 7)
			n := min(int(ops[1]&7)+1, int(8-off))
			p := make([]byte, n)
			write := ops[0]&0x80 != 0
			ops = ops[2:]
			ops = ops[copy(p, ops):]
			if write {
				h.Write(off, p)
			} else {
				h.Read(off, p)
			}
			if h.inl(0)&^addressMask != 0 {
				t.Fatal("address has bits that do not exist")
			}
		}
	})
}
