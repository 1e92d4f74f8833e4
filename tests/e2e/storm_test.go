// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"xenvmm/gpc"
	"xenvmm/vmm"
	"xenvmm/vmm/kvm/kvmtest"
	"xenvmm/vmm/storm"
)

// blow runs a storm small enough for the lab and demands that nothing is lost.
func blow(t *testing.T, cfg storm.Config) *storm.Report {
	t.Helper()
	kvmtest.Open(t)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if cfg.Events == 0 {
		cfg.Events = 5_000
	}
	if cfg.Changes == 0 {
		cfg.Changes = 100
	}
	r, err := storm.Run(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if !r.OK() {
		t.Errorf("%s\n%+v\n%s", r.Problem(), *r, strings.Join(r.Guest.Tail, "\n"))
	}
	if r.Sent < cfg.Events || r.Changes < cfg.Changes {
		t.Errorf("%d events and %d memslot changes, want at least %d and %d", r.Sent, r.Changes, cfg.Events, cfg.Changes)
	}
	if r.Hits == 0 {
		t.Error("no memory change met a cache: the storm tested nothing")
	}
	return r
}

func TestKVMStorm(t *testing.T) {
	for _, guard := range gpc.Guards() {
		t.Run("guard="+guard, func(t *testing.T) {
			blow(t, storm.Config{Machine: vmm.Config{CPUs: 2, Guard: guard}})
		})
	}
	for name, c := range map[string]storm.Config{
		"upcall by the domain's vector":               {Upcall: "callback"},
		"upcall by a line":                            {Upcall: "gsi", Machine: vmm.Config{CPUs: 1}},
		"8 vCPUs":                                     {Machine: vmm.Config{CPUs: 8}},
		"8 vCPUs, upcall by the domain's vector":      {Upcall: "callback", Machine: vmm.Config{CPUs: 8}},
		"guest never idle":                            {Args: "idle=spin"},
		"ports change their vCPU":                     {Args: "rebind=1"},
		"vcpu_info inside shared_info":                {Args: "vcpuinfo=shared"},
		"one source":                                  {Sources: 1, Senders: 1, Events: 500},
		"event threads poll":                          {Machine: vmm.Config{CPUs: 2, BusyPoll: 50 * time.Microsecond}},
		"no moves by the guest, senders without rest": {Moves: -1, Pace: -1},
	} {
		t.Run(name, func(t *testing.T) { blow(t, c) })
	}
}
