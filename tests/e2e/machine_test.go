// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"xenvmm/vmm"
	"xenvmm/vmm/kvm/kvmtest"
)

// limit bounds one guest; the lab's emulator is slow.
const limit = 90 * time.Second

// boot runs a machine to its end and checks that nothing of it is left.
func boot(t *testing.T, cfg vmm.Config, timeout time.Duration) vmm.Status {
	t.Helper()
	kvmtest.Open(t)
	// The Go runtime opens its poller with the first pipe; not the machine's.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	before := descriptors(t)
	m, err := vmm.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(); err != nil {
		t.Fatal(err, m.Close())
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	status := m.Wait(ctx)
	if err := m.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors were open before, %d after", before, after)
	}
	return status
}

// expect checks the ending and, for PASS, the verdict.
func expect(t *testing.T, s vmm.Status, want vmm.Ending, verdict string) {
	t.Helper()
	got := ""
	if s.Verdict != nil {
		got = s.Verdict.Result
	}
	if s.Ending != want || got != verdict {
		t.Errorf("%s, verdict %+v; want %s and %q\n%s", s, s.Verdict, want, verdict, strings.Join(append(s.Tail, s.Diagnosis.Lines()...), "\n"))
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		// The directory's own descriptor is gone by now.
		if _, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil {
			n++
		}
	}
	return n
}
