// SPDX-License-Identifier: Apache-2.0

package device

// Ports is the bus of the 65536 I/O ports.
type Ports struct{ *Bus }

// NewPorts makes an empty port bus.
func NewPorts() Ports { return Ports{newBus("port", 0xffff)} }

// In performs the reads of one IN or INS instruction: repetitions of size
// bytes (1, 2 or 4) from the same port, one after another into data, as KVM
// lays them out in its shared window. Data beyond the last whole repetition is
// set to ones; a size of 0 or below answers all ones. It returns false if no
// device answered.
func (b Ports) In(port uint16, size int, data []byte) (claimed bool) {
	if size <= 0 {
		ones(data)
		return false
	}
	for len(data) >= size {
		if b.Read(uint64(port), data[:size:size]) {
			claimed = true
		}
		data = data[size:]
	}
	ones(data)
	return claimed
}

// Out performs the writes of one OUT or OUTS instruction; see In.
func (b Ports) Out(port uint16, size int, data []byte) (claimed bool) {
	if size <= 0 {
		return false
	}
	for len(data) >= size {
		if b.Write(uint64(port), data[:size:size]) {
			claimed = true
		}
		data = data[size:]
	}
	return claimed
}
