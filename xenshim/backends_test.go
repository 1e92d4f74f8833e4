// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"bytes"
	"encoding/binary"
	"io"
	"sync"
	"testing"

	"xenvmm/xenshim/abi"
)

// tellWriter passes on what is written and tells when it is enough.
type tellWriter struct {
	mu   sync.Mutex
	b    bytes.Buffer
	want int
	done chan struct{}
}

func (w *tellWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.b.Write(p)
	if w.b.Len() == w.want {
		close(w.done)
	}
	return len(p), nil
}

func TestConsoleRing(t *testing.T) {
	out := &tellWriter{want: 5, done: make(chan struct{})}
	m := newMachine(t, abi.Width64, func(c *Config) { c.ConsoleOut = out })
	m.mapShared(sharedGFN)
	ring := uint64(DefaultConsoleGFN << pageShift)
	m.write(ring+abi.ConsoleOut, []byte("hello"))
	m.write(ring+abi.ConsoleOutProd, []byte{5, 0, 0, 0})
	m.want("kick", m.sendPort(uint32(m.d.params.get(abi.HVMParamConsoleEvtchn))), abi.OK)
	<-out.done
	if out.b.String() != "hello" {
		t.Errorf("got %q", out.b.String())
	}
}

func TestConsoleInputReachesTheRing(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	m := newMachine(t, abi.Width64, func(c *Config) { c.ConsoleIn = r })
	m.mapShared(sharedGFN)
	if _, err := w.Write([]byte("input")); err != nil { // returns once it was taken
		t.Fatal(err)
	}
	port := uint32(m.d.params.get(abi.HVMParamConsoleEvtchn))
	for m.r64(sharedGFN<<pageShift+0x800)&(1<<port) == 0 {
		m.want("yield", m.sched(abi.SchedopYield, 0), abi.OK)
	}
	if got := m.read(DefaultConsoleGFN<<pageShift, 5); string(got) != "input" {
		t.Errorf("ring holds %q", got)
	}
}

func TestStoreRing(t *testing.T) {
	m := newMachine(t, abi.Width64)
	m.mapShared(sharedGFN)
	ring := uint64(DefaultStoreGFN << pageShift)
	// XS_READ (2) of the relative path "name".
	msg := make([]byte, 16, 32)
	binary.LittleEndian.PutUint32(msg, 2)
	binary.LittleEndian.PutUint32(msg[4:], 77)
	binary.LittleEndian.PutUint32(msg[12:], 5)
	msg = append(msg, "name\x00"...)
	m.write(ring+abi.XenstoreReq, msg)
	m.write(ring+abi.XenstoreReqProd, []byte{byte(len(msg)), 0, 0, 0})
	port := uint32(m.d.params.get(abi.HVMParamStoreEvtchn))
	m.want("kick", m.sendPort(port), abi.OK)
	for m.r32(ring+abi.XenstoreRspProd) < 20 {
		m.want("yield", m.sched(abi.SchedopYield, 0), abi.OK)
	}
	reply := m.read(ring+abi.XenstoreRsp, 20)
	if u32(reply, 0) != 2 || u32(reply, 4) != 77 || string(reply[16:]) != "test" {
		t.Errorf("reply % x", reply)
	}
	for m.r64(sharedGFN<<pageShift+0x800)&(1<<port) == 0 {
		m.want("yield", m.sched(abi.SchedopYield, 0), abi.OK)
	}
}

func TestConfigErrors(t *testing.T) {
	good := func() Config {
		mem := newFakeMemory(t, 1<<20)
		return Config{VCPUs: 1, Memory: mem, Pages: fakeAllocator{t, mem}, RAM: []Range{{0, 1 << 20}}, Caches: mem.set, Platform: &fakePlatform{}}
	}
	for name, edit := range map[string]func(*Config){
		"no vCPUs":        func(c *Config) { c.VCPUs = 0 },
		"no memory":       func(c *Config) { c.Memory = nil },
		"reserved id":     func(c *Config) { c.DomID = abi.DomIDSelf },
		"negative grants": func(c *Config) { c.MaxGrantFrames = -1 },
		"rings in one":    func(c *Config) { c.ConsoleGFN = DefaultStoreGFN },
		"no RAM":          func(c *Config) { c.RAM = nil },
		"odd RAM":         func(c *Config) { c.RAM = []Range{{0, 100}} },
		"RAM wraps":       func(c *Config) { c.RAM = []Range{{1 << 63, 1 << 63}} },
		"bad ring frame":  func(c *Config) { c.StoreGFN = 1 << 50 },
	} {
		c := good()
		edit(&c)
		if d, err := New(c); err == nil {
			d.Close()
			t.Errorf("%s: accepted", name)
		}
	}
	d, err := New(good())
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
}
