// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"xenvmm/gpc"
	"xenvmm/vmm/bench"
)

// benchPeer is vmm bench peer.
type benchPeer struct {
	Rounds      int    `help:"Rounds in which the two take turns (default 11)." default:"11" placeholder:"N"`
	Events      int    `help:"Events of each kind in a round (default 100)." default:"100" placeholder:"N"`
	Changes     int    `help:"Changes of each kind in a round (default 20)." default:"20" placeholder:"N"`
	Guard       string `help:"Guard of this program's cache: ${guards}." default:"" placeholder:"NAME"`
	Device      string `help:"KVM device." default:"/dev/kvm" placeholder:"PATH"`
	benchOutput `embed:""`
}

// Help implements kong.HelpProvider.
func (benchPeer) Help() string {
	return `One virtual machine, with its events delivered by this program and by KVM's own
event channels in turn: by a call (KVM_XEN_HVM_EVTCHN_SEND) and by an eventfd
(an irqfd with a route to the channel). Then memory changes under the cache of
shared_info of the one, and of the other. Every event is counted by the guest.

The host's kernel needs CONFIG_KVM_XEN=y, as Debian's 6.12 has it and its 6.1 has
not. The lab has one; what it measures is emulated, so that only the ratios say
something.

Examples:

    vmm bench peer
    vmm lab exec --host debian-6.12 -- vmm bench peer`
}

// Run implements the verb.
func (b *benchPeer) Run(s stdio) error {
	var guard []string
	if b.Guard != "" {
		guard = []string{b.Guard}
	}
	if err := firstOf(oneOf("guard", guard, gpc.Guards()), within("rounds", b.Rounds, 1, maxRounds),
		within("events", b.Events, 1, maxPeerSamples), within("changes", b.Changes, 1, maxPeerSamples)); err != nil {
		return err
	}
	_, err := b.run(s, peerPart(bench.PeerOptions{Rounds: b.Rounds, Events: b.Events, Changes: b.Changes, Guard: b.Guard, Device: b.Device}))
	return err
}

const maxPeerSamples = 100_000

func peerPart(o bench.PeerOptions) benchPart {
	return benchPart{"peer", func(ctx context.Context, p bench.Progress) (*bench.Report, error) { return bench.Peer(ctx, o, p) }}
}
