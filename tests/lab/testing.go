// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"os"
)

// TB is what StartT needs of a testing.TB. It is declared here so that
// programs that only run things in the lab don't link the package testing.
type TB interface {
	Helper()
	Skipf(format string, args ...any)
	Logf(format string, args ...any)
	Fatal(args ...any)
	Failed() bool
	Cleanup(f func())
	Context() context.Context
}

// TestEnv names the environment variable without which StartT skips: a boot
// takes seconds, a first one a download.
const TestEnv = "XENVMM_LAB"

// StartT starts a host for a test, which is skipped without TestEnv. The host
// ends with the test; a failed test shows the end of its console.
func StartT(t TB, cfg Config) *Host {
	t.Helper()
	if os.Getenv(TestEnv) == "" {
		t.Skipf("boots a lab host: set %s=1, or run make test", TestEnv)
	}
	if cfg.Note == nil {
		cfg.Note = t.Logf
	}
	h, err := Start(t.Context(), cfg)
	if err != nil {
		if e, ok := err.(*HostError); ok {
			t.Logf("console:\n%s", e.Tail(60))
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = h.Close()
		if !t.Failed() {
			return
		}
		for _, l := range h.Console() {
			t.Logf("console: %s", l)
		}
	})
	return h
}
