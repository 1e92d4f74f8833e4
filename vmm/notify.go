// SPDX-License-Identifier: Apache-2.0

package vmm

// Config is the machine's configuration with every default filled in.
func (m *Machine) Config() Config { return m.cfg }

// HostEvents are the event channels that are connected to eventfds, as many as
// Config.HostEvents asked for, in the order of their ports.
func (m *Machine) HostEvents() []*HostEvent { return m.events }

// OnNotify sets what is called when the guest sends on a host event's channel;
// event is its index in HostEvents. It runs on a vCPU's thread and must not
// block. Set it before Start.
func (m *Machine) OnNotify(f func(event int)) {
	m.mu.Lock()
	m.notify = f
	m.mu.Unlock()
}

func (m *Machine) notified(event int) {
	m.mu.Lock()
	f := m.notify
	m.mu.Unlock()
	if f != nil {
		f(event)
	}
}
