// SPDX-License-Identifier: Apache-2.0

package device

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// ram is a device that remembers bytes and checks the contract of Device.
type ram struct {
	t    testing.TB
	data []byte
	log  []string
}

func (r *ram) check(off uint64, p []byte) {
	if len(p) < 1 || len(p) > 8 || off+uint64(len(p)) > uint64(len(r.data)) {
		r.t.Errorf("access of %d bytes at %#x in a range of %d", len(p), off, len(r.data))
	}
}

func (r *ram) Read(off uint64, p []byte) {
	r.check(off, p)
	r.log = append(r.log, fmt.Sprintf("r%d@%d", len(p), off))
	copy(p, r.data[off:])
}

func (r *ram) Write(off uint64, p []byte) {
	r.check(off, p)
	r.log = append(r.log, fmt.Sprintf("w%d@%d", len(p), off))
	copy(r.data[off:], p)
}

func mustMap(t testing.TB, b *Bus, name string, base, size uint64, d Device) {
	t.Helper()
	if err := b.Map(name, base, size, d); err != nil {
		t.Fatal(err)
	}
}

func TestMapRefusesBadRanges(t *testing.T) {
	for _, c := range []struct {
		name       string
		bus        *Bus
		base, size uint64
		want       error
	}{
		{"empty", NewPorts().Bus, 0x80, 0, ErrRange},
		{"past the last port", NewPorts().Bus, 0xffff, 2, ErrRange},
		{"far above the ports", NewPorts().Bus, 1 << 40, 1, ErrRange},
		{"wraps", NewMMIO(), ^uint64(0), 2, ErrRange},
		{"size of everything wraps", NewMMIO(), 1, ^uint64(0), nil},
		{"last port", NewPorts().Bus, 0xffff, 1, nil},
		{"top of memory", NewMMIO(), ^uint64(0), 1, nil},
		{"all ports", NewPorts().Bus, 0, 0x10000, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.bus.Map("dev", c.base, c.size, &ram{t: t}); !errors.Is(err, c.want) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestOverlapNamesBoth(t *testing.T) {
	b := NewPorts()
	mustMap(t, b.Bus, "serial port", 0x3f8, 8, &ram{t: t, data: make([]byte, 8)})
	for _, r := range [][2]uint64{{0x3f8, 8}, {0x3f7, 2}, {0x3ff, 1}, {0x3fa, 1}, {0x300, 0x200}} {
		err := b.Map("printer", r[0], r[1], &ram{t: t})
		if !errors.Is(err, ErrOverlap) || !strings.Contains(err.Error(), "printer") || !strings.Contains(err.Error(), "serial port") || !strings.Contains(err.Error(), "0x3f8-0x3ff") {
			t.Errorf("%#x: error %v", r, err)
		}
	}
	mustMap(t, b.Bus, "below", 0x3f7, 1, &ram{t: t, data: make([]byte, 1)})
	mustMap(t, b.Bus, "above", 0x400, 1, &ram{t: t, data: make([]byte, 1)})
}

func TestUnclaimedReadsAllOnes(t *testing.T) {
	b := NewPorts()
	p := []byte{1, 2, 3, 4}
	if b.In(0x80, 4, p) || !bytes.Equal(p, []byte{255, 255, 255, 255}) {
		t.Errorf("% x", p)
	}
	if b.Out(0x80, 4, p) {
		t.Error("an unclaimed write was claimed")
	}
}

func TestAccessAcrossRangeEnds(t *testing.T) {
	b := NewMMIO()
	a := &ram{t: t, data: []byte{1, 2}}
	c := &ram{t: t, data: []byte{3, 4}}
	mustMap(t, b, "a", 10, 2, a)
	mustMap(t, b, "c", 13, 2, c)
	for _, x := range []struct {
		addr uint64
		want []byte
	}{
		{8, []byte{255, 255, 1, 2, 255, 3, 4, 255}},
		{9, []byte{255, 1}},
		{11, []byte{2, 255}},
		{11, []byte{2, 255, 3, 4}},
		{14, []byte{4, 255, 255, 255}},
		{12, []byte{255}},
		{^uint64(0), []byte{255, 255, 255, 255}},
	} {
		p := make([]byte, len(x.want))
		b.Read(x.addr, p)
		if !bytes.Equal(p, x.want) {
			t.Errorf("read %d at %d: % d, want % d", len(p), x.addr, p, x.want)
		}
	}
	b.Write(11, []byte{21, 99, 31})
	if a.data[1] != 21 || c.data[0] != 31 {
		t.Errorf("write across: %v %v", a.data, c.data)
	}
}

func TestPortsDoNotWrap(t *testing.T) {
	b := NewPorts()
	mustMap(t, b.Bus, "first", 0, 1, &ram{t: t, data: []byte{7}})
	mustMap(t, b.Bus, "last", 0xffff, 1, &ram{t: t, data: []byte{9}})
	p := make([]byte, 4)
	b.In(0xffff, 4, p)
	if !bytes.Equal(p, []byte{9, 255, 255, 255}) {
		t.Errorf("% d", p)
	}
}

func TestTopOfMemory(t *testing.T) {
	b := NewMMIO()
	mustMap(t, b, "top", ^uint64(0)-1, 2, &ram{t: t, data: []byte{5, 6}})
	p := make([]byte, 4)
	if !b.Read(^uint64(0)-1, p) || !bytes.Equal(p, []byte{5, 6, 255, 255}) {
		t.Errorf("% d", p)
	}
}

func TestStringIORepeats(t *testing.T) {
	b := NewPorts()
	d := &ram{t: t, data: make([]byte, 4)}
	mustMap(t, b.Bus, "d", 0x100, 4, d)
	if !b.Out(0x100, 2, []byte{1, 2, 3, 4, 5, 6, 7}) {
		t.Error("not claimed")
	}
	if fmt.Sprint(d.log) != "[w2@0 w2@0 w2@0]" || !bytes.Equal(d.data, []byte{5, 6, 0, 0}) {
		t.Errorf("%v % d", d.log, d.data)
	}
	d.log = nil
	p := make([]byte, 9)
	b.In(0x100, 4, p)
	if fmt.Sprint(d.log) != "[r4@0 r4@0]" || !bytes.Equal(p, []byte{5, 6, 0, 0, 5, 6, 0, 0, 255}) {
		t.Errorf("%v % d", d.log, p)
	}
	for _, size := range []int{0, -1} {
		if b.In(0x100, size, p) || b.Out(0x100, size, p) || p[0] != 255 {
			t.Errorf("size %d was claimed", size)
		}
	}
}

func TestUnmap(t *testing.T) {
	b := NewMMIO()
	mustMap(t, b, "a", 0x1000, 16, &ram{t: t, data: make([]byte, 16)})
	if err := b.Unmap(0x1001); !errors.Is(err, ErrNotMapped) {
		t.Errorf("error %v", err)
	}
	if err := b.Unmap(0x1000); err != nil {
		t.Fatal(err)
	}
	p := []byte{0}
	if b.Read(0x1000, p) || p[0] != 255 {
		t.Error("still there")
	}
	mustMap(t, b, "again", 0x1000, 16, &ram{t: t, data: make([]byte, 16)})
}

// TestBusAgainstOneBytePerAddress compares the bus with a flat model.
func TestBusAgainstOneBytePerAddress(t *testing.T) {
	const n = 64
	rapid.Check(t, func(rt *rapid.T) {
		b := newBus("test", n-1)
		var model [n]struct {
			claimed bool
			value   byte
		}
		for i := range rapid.IntRange(0, 8).Draw(rt, "ranges") {
			base := rapid.Uint64Range(0, n-1).Draw(rt, "base")
			size := rapid.Uint64Range(1, n-base).Draw(rt, "size")
			free := true
			for a := base; a < base+size; a++ {
				free = free && !model[a].claimed
			}
			err := b.Map(fmt.Sprint(i), base, size, &ram{t: t, data: make([]byte, size)})
			if (err == nil) != free {
				rt.Fatalf("map %d+%d: %v, free %v", base, size, err, free)
			}
			for a := base; err == nil && a < base+size; a++ {
				model[a].claimed = true
			}
		}
		for range rapid.IntRange(1, 20).Draw(rt, "accesses") {
			addr := rapid.Uint64Range(0, n+4).Draw(rt, "addr")
			p := make([]byte, rapid.IntRange(1, 20).Draw(rt, "len"))
			write := rapid.Bool().Draw(rt, "write")
			claimed := false
			want := make([]byte, len(p))
			for i := range p {
				p[i] = byte(i + 1)
				want[i] = 0xff
				if a := addr + uint64(i); a < n && model[a].claimed {
					claimed = true
					if write {
						model[a].value = p[i]
					}
					want[i] = model[a].value
				}
			}
			if write {
				if b.Write(addr, p) != claimed {
					rt.Fatalf("write %d at %d: claimed is not %v", len(p), addr, claimed)
				}
			} else if b.Read(addr, p) != claimed || !bytes.Equal(p, want) {
				rt.Fatalf("read at %d: % d, want % d", addr, p, want)
			}
		}
	})
}

func TestAccessWhileTheMapChanges(t *testing.T) {
	b := NewMMIO()
	mustMap(t, b, "fixed", 0x1000, 8, constant(7))
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			p := make([]byte, 8)
			for {
				select {
				case <-stop:
					return
				default:
				}
				b.Read(0x1000, p)
				if p[0] != 7 || p[7] != 7 {
					t.Errorf("% d", p)
					return
				}
				b.Read(0x2000, p)
				if p[0] != 9 && p[0] != 255 {
					t.Errorf("% d", p)
					return
				}
			}
		})
	}
	for range 500 {
		mustMap(t, b, "moving", 0x2000, 8, constant(9))
		if err := b.Unmap(0x2000); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
}

// constant reads as one value.
type constant byte

func (c constant) Read(_ uint64, p []byte) {
	for i := range p {
		p[i] = byte(c)
	}
}
func (constant) Write(uint64, []byte) {}

func BenchmarkPortWrite(b *testing.B) {
	bus := NewPorts()
	for i := range uint64(16) {
		mustMap(b, bus.Bus, "d", 0x100*i, 8, constant(1))
	}
	p := []byte{1}
	for b.Loop() {
		bus.Out(0x300, 1, p)
	}
}
