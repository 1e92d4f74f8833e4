// SPDX-License-Identifier: Apache-2.0

package device_test

import (
	"testing"
	"time"

	"xenvmm/vmm/device"
	"xenvmm/vmm/device/debugport"
	"xenvmm/vmm/device/pcihost"
	"xenvmm/vmm/device/reset"
	"xenvmm/vmm/device/rtc"
	"xenvmm/vmm/device/serial"
)

// counter counts what devices send out.
type counter struct{ bytes int }

func (c *counter) Write(p []byte) (int, error) {
	c.bytes += len(p)
	return len(p), nil
}

// machine is a port bus with every device of this tree on it.
type machine struct {
	ports  device.Ports
	uart   *serial.UART
	out    counter
	resets int
	edges  int
}

func newMachine(t testing.TB) *machine {
	m := &machine{ports: device.NewPorts()}
	m.uart = serial.New(serial.Config{Out: &m.out, IRQ: func(bool) { m.edges++ }})
	ended := func(string) { m.resets++ }
	kbd := reset.NewKeyboard(ended)
	for _, d := range []struct {
		name       string
		base, size uint64
		dev        device.Device
	}{
		{"serial", serial.COM1, serial.Ports, m.uart},
		{"debug", debugport.Port, 1, debugport.New(&m.out)},
		{"keyboard data", reset.DataPort, 1, kbd.Data()},
		{"keyboard command", reset.CommandPort, 1, kbd.Command()},
		{"control port A", reset.ControlAPort, 1, reset.NewControlA(ended)},
		{"clock", rtc.Port, rtc.Ports, rtc.New(rtc.Config{Now: func() time.Time { return time.Unix(1e9, 0) }})},
		{"PCI", pcihost.Port, pcihost.Ports, pcihost.New(reset.NewControl(ended))},
		{"sleep", 0x600, 2, reset.NewSleep(ended)},
	} {
		if err := m.ports.Map(d.name, d.base, d.size, d.dev); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// ports that the fuzzer's first byte chooses from: all devices and their
// neighbours.
var fuzzPorts = []uint16{
	0x3f8, 0x3f9, 0x3fa, 0x3fb, 0x3fc, 0x3fd, 0x3fe, 0x3ff, 0xe9, 0x60, 0x61, 0x64, 0x92,
	0x70, 0x71, 0xcf8, 0xcf9, 0xcfa, 0xcfb, 0xcfc, 0xcfd, 0xcfe, 0xcff, 0x600, 0x601, 0, 0xffff, 0x3f7, 0x6f,
}

// FuzzPorts drives all devices by random accesses: 3 bytes choose port, size,
// direction and count, then the data follow. Nothing may panic, and what comes
// out is bounded by what went in.
func FuzzPorts(f *testing.F) {
	f.Add([]byte{0, 0x80, 'A', 4, 0x80, 0x1f, 0, 0x80, 'B', 0, 0, 2, 0})
	f.Add([]byte{13, 0x80, 9, 14, 0, 14, 0x80, 0x12})
	f.Add([]byte{15, 0x82, 0, 0, 0, 0x80, 19, 2, 11, 0x80, 0xfe})
	f.Fuzz(func(t *testing.T, ops []byte) {
		m := newMachine(t)
		written := 0
		buf := make([]byte, 64)
		for len(ops) >= 2 {
			port := fuzzPorts[int(ops[0])%len(fuzzPorts)]
			size := []int{1, 2, 4, 3}[ops[1]&3]
			count := int(ops[1]>>2&7) + 1
			out := ops[1]&0x80 != 0
			input := ops[1]&0x60 == 0x60
			ops = ops[2:]
			n := min(size*count, len(buf))
			if !out {
				m.ports.In(port, size, buf[:n])
			} else {
				k := copy(buf[:n], ops)
				ops = ops[k:]
				m.ports.Out(port, size, buf[:n])
				written += n
			}
			if input {
				if taken := m.uart.Input(buf[:n]); taken < 0 || taken > n || taken > 16 {
					t.Fatalf("Input took %d of %d", taken, n)
				}
			}
			if room := m.uart.Room(); room < 0 || room > 16 {
				t.Fatalf("room %d", room)
			}
		}
		if m.out.bytes > written || m.resets > written {
			t.Fatalf("%d bytes out and %d resets for %d bytes in", m.out.bytes, m.resets, written)
		}
	})
}

func BenchmarkSerialByte(b *testing.B) {
	m := newMachine(b)
	p := []byte{'x'}
	for b.Loop() {
		m.ports.Out(serial.COM1, 1, p)
	}
}
