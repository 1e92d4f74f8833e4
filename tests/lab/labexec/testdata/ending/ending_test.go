// SPDX-License-Identifier: Apache-2.0

// Package ending has a test for every way in which a test program ends.
package ending

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

func TestPass(t *testing.T) {
	if os.Getenv("XENVMM_IN_LAB") != "1" {
		t.Fatal("not in the lab")
	}
}

func TestFail(t *testing.T) { t.Error("on purpose") }

func TestPanic(*testing.T) { panic("on purpose") }

func TestExit(*testing.T) { os.Exit(3) }

func TestHang(*testing.T) { time.Sleep(time.Hour) }

func TestStubborn(*testing.T) {
	signal.Ignore(syscall.SIGQUIT, syscall.SIGTERM)
	time.Sleep(time.Hour)
}

func TestKilled(t *testing.T) {
	// Any other signal is first the Go runtime's.
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// TestHostCrash ends the whole machine; nowhere but in the lab.
func TestHostCrash(t *testing.T) {
	if os.Getenv("XENVMM_IN_LAB") != "1" {
		t.Fatal("not in the lab")
	}
	if err := os.WriteFile("/proc/sysrq-trigger", []byte("c"), 0); err != nil {
		t.Fatal(err)
	}
}
