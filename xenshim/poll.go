// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// poll is SCHEDOP_poll: wait until one of up to 128 ports is pending, an event
// can be delivered, or an absolute guest time has come. The vCPU is registered
// as a poller before the ports are looked at, so that an event in between
// wakes it; every way out but the wait itself takes the registration back.
func (c *call) poll(ptr uint64) int64 {
	l := abi.SchedPollLayout(c.width)
	p, ok := c.arg(ptr, l.Size)
	if !ok {
		return errno(abi.EFAULT)
	}
	list, nr, deadline := word(p, l.Ports, c.width), u32(p, l.NrPorts), u64(p, l.Timeout)
	if nr > abi.SchedPollMaxPorts {
		return errno(abi.EINVAL)
	}
	raw := c.pageBuf[:4*nr]
	if !c.copyIn(raw, list) {
		return errno(abi.EFAULT)
	}
	ports := c.ports[:nr]
	for i := range ports {
		ports[i] = u32(raw, 4*uint32(i))
	}
	ev := c.d.events
	ev.PollStart(c.id, ports)
	pending, e := ev.AnyPending(c.reader, ports)
	deliverable := c.s.RFLAGS&rflagsIF != 0 && ev.UpcallPending(c.reader, c.id)
	due := deadline != 0 && deadline <= c.d.now(c.id)
	if e != abi.OK || pending || deliverable || due {
		ev.PollEnd(c.id)
		if c.polling { // by an earlier entry of a multicall: it ends as well
			c.polling, c.out = false, Outcome{Kind: Yield}
		}
		return errno(e)
	}
	c.polling = true
	c.out.merge(Outcome{Kind: Poll, Deadline: deadline})
	c.waiting(Poll)
	return 0
}

// PollDone ends the wait of an Outcome of kind Poll, whatever ended it.
func (v *VCPU) PollDone() { v.d.events.PollEnd(v.id) }
