// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"

	"xenvmm/gpc"
	"xenvmm/vmm"
	"xenvmm/vmm/bench"
	"xenvmm/vmm/kvm"
)

// TestKVMPeerCountsEveryEventOfBothSides is vmm bench peer in miniature, under
// every guard. An event that is lost or made up is an error of the run.
func TestKVMPeerCountsEveryEventOfBothSides(t *testing.T) {
	host := hostXen(t)
	const needs = kvm.XenInterceptHcall | kvm.XenSharedInfo | kvm.XenEvtchn2Level | kvm.XenEvtchnSend
	for _, guard := range gpc.Guards() {
		o := bench.PeerOptions{Rounds: 2, Events: 10, Changes: 4, Guard: guard}
		r, err := bench.Peer(t.Context(), o, nil)
		if host&needs != needs {
			var lacks *vmm.HostError
			if !errors.As(err, &lacks) || !strings.Contains(err.Error(), "CONFIG_KVM_XEN=y") {
				t.Errorf("%v, want a *vmm.HostError with the remedy", err)
			}
			t.Skipf("refused, as it must be: %v", err)
		}
		if err != nil {
			t.Fatalf("guard %s: %v", guard, err)
		}
		for _, tab := range r.Tables {
			for _, row := range tab.Rows {
				for i, c := range tab.Columns[1:] {
					if n := row[i+1].Number; c.ID != "none" && (n == nil || n.Median <= 0 || n.N < 1) {
						t.Errorf("guard %s: %s of %q is %+v", guard, c.Name, row[0].Text, n)
					}
				}
			}
		}
	}
}

// TestKVMPeerEndsEarlyWithWhatItHas cancels in the second round.
func TestKVMPeerEndsEarlyWithWhatItHas(t *testing.T) {
	if hostXen(t)&kvm.XenEvtchnSend == 0 {
		t.Skip("the host's KVM has no event channels of its own")
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	o := bench.PeerOptions{Rounds: 100, Events: 3, Changes: 2}
	r, err := bench.Peer(ctx, o, func(s bench.Step) {
		if strings.HasPrefix(s.What, "round 2") {
			cancel(why)
		}
	})
	if !errors.Is(err, why) || r == nil || !r.Partial || r.Tables[0].Rows[0][1].Number == nil {
		t.Errorf("%v, %+v", err, r)
	}
}
