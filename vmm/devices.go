// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"errors"
	"io"
	"time"

	"xenvmm/vmm/boot/acpi"
	"xenvmm/vmm/device"
	"xenvmm/vmm/device/debugport"
	"xenvmm/vmm/device/pcihost"
	"xenvmm/vmm/device/pit"
	"xenvmm/vmm/device/reset"
	"xenvmm/vmm/device/rtc"
	"xenvmm/vmm/device/serial"
	"xenvmm/vmm/memory"
)

// com1GSI is the interrupt of the first serial port.
const com1GSI = 4

// devices are the emulated devices and the buses they hang on.
type devices struct {
	ports device.Ports
	mmio  *device.Bus
	com1  *serial.UART

	in     io.Reader // what is pumped into com1, nil if nothing
	pumped chan struct{}
}

// devicesConfig is what they are connected to.
type devicesConfig struct {
	serial, debug io.Writer
	serialIRQ     func(level bool)
	reset, off    func(how string)
	ram           []memory.Range
}

func newDevices(c devicesConfig) (*devices, error) {
	d := &devices{ports: device.NewPorts(), mmio: device.NewMMIO()}
	d.com1 = serial.New(serial.Config{Out: c.serial, IRQ: c.serialIRQ})
	var sizes []rtc.Range
	for _, r := range c.ram {
		sizes = append(sizes, rtc.Range{GPA: r.GPA, Size: r.Size})
	}
	keyboard := reset.NewKeyboard(c.reset)
	for _, m := range []struct {
		name       string
		base, size uint64
		dev        device.Device
	}{
		{"serial port", serial.COM1, serial.Ports, d.com1},
		{"debug port", debugport.Port, 1, debugport.New(c.debug)},
		{"real-time clock", rtc.Port, rtc.Ports, rtc.New(rtc.Config{RAM: sizes})},
		{"interval timer", pit.Port, pit.Ports, pit.Absent{}},
		{"keyboard data", reset.DataPort, 1, keyboard.Data()},
		{"keyboard command", reset.CommandPort, 1, keyboard.Command()},
		{"system control port A", reset.ControlAPort, 1, reset.NewControlA(c.reset)},
		{"ACPI sleep registers", acpi.SleepControlPort, 2, reset.NewSleep(c.off)},
		{"PCI configuration", pcihost.Port, pcihost.Ports, pcihost.New(reset.NewControl(c.reset))},
	} {
		if err := d.ports.Map(m.name, m.base, m.size, m.dev); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// pump copies what the host types to the serial port until the input ends or
// the devices are closed.
func (d *devices) pump(in io.Reader) {
	if in == nil {
		return
	}
	d.in = in
	d.pumped = make(chan struct{})
	go func() {
		defer close(d.pumped)
		_, _ = io.Copy(d.com1.Line(), in) // ends with the input or the port
	}()
}

// Close ends the serial port and its input. A reader that cannot be
// interrupted is left behind in its read.
func (d *devices) Close() error {
	err := d.com1.Close()
	r, ok := d.in.(interface{ SetReadDeadline(time.Time) error })
	if !ok || r.SetReadDeadline(time.Unix(1, 0)) != nil {
		return err
	}
	<-d.pumped
	return errors.Join(err, r.SetReadDeadline(time.Time{}))
}
