// SPDX-License-Identifier: Apache-2.0

package evtchn

import "testing"

// An event that somebody else set pending without telling the vCPU, as a
// deliverer that wrote to a vcpu_info that is not used any more.
func TestLookAgainTellsOfEventsThatNobodyAnnounced(t *testing.T) {
	g := newRig(t, 2)
	p := g.ok(g.BindIPI(1))
	g.mem.word(sharedPg, 0x800+p/32*4).Or(1 << (p % 32))
	g.LookAgain(-1)
	g.LookAgain(2)
	want(t, "upcalls by numbers that are no vCPU", g.upcalls[0].Load()+g.upcalls[1].Load(), 0)
	g.LookAgain(1)
	want(t, "state", g.state(p, 1), state{true, true, true, 1})
	want(t, "the other vCPU", g.upcalls[0].Load(), 0)
	want(t, "waiting", g.Stats().Waiting, false)
}
