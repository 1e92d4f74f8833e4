// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"xenvmm/vmm/kvm/kvmtest"
)

// limit is long enough for a guest to start in the lab.
const limit = 30 * time.Second

// command starts vmm as a process of its own.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	vmm := filepath.Join(t.TempDir(), "vmm") // by this name the test binary is the command
	if err := os.Symlink(self, vmm); err != nil {
		t.Fatal(err)
	}
	return exec.Command(vmm, args...)
}

// TestKVMOutputThatNobodyTakesDoesNotKeepTheGuestAlive fills the pipe that is
// standard output and then ends the program.
func TestKVMOutputThatNobodyTakesDoesNotKeepTheGuestAlive(t *testing.T) {
	kvmtest.Open(t)
	cmd := command(t, "run", "--guest", "badhypercall", "--cmdline", "trace=1 count=1000000")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The pipe is full when it holds a lot and no more comes.
	pipe := int(out.(*os.File).Fd())
	for held, since := 0, time.Now(); held < 10_000 || time.Since(since) < 300*time.Millisecond; runtime.Gosched() {
		n, err := unix.IoctlGetInt(pipe, unix.TIOCINQ)
		if err != nil {
			t.Fatal(err)
		}
		if n != held {
			held, since = n, time.Now()
		}
		if time.Since(since) > limit {
			t.Fatalf("the guest has written only %d bytes", n)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 128+int(syscall.SIGTERM) {
		t.Errorf("ended with %v, want exit code %d", err, 128+int(syscall.SIGTERM))
	}
}

// TestKVMSignalsEndTheGuestWithTheirExitCode: whoever stops vmm gets the usual
// code and no leftovers, whatever the guest is doing.
func TestKVMSignalsEndTheGuestWithTheirExitCode(t *testing.T) {
	kvmtest.Open(t)
	for _, c := range []struct {
		mode string
		sig  syscall.Signal
	}{{"hlt", syscall.SIGTERM}, {"spin", syscall.SIGTERM}, {"spin", syscall.SIGINT}, {"hlt", syscall.SIGHUP}} {
		cmd := command(t, "run", "--guest", "hang", "--cpus", "2", "--cmdline", "mode="+c.mode)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "HANG") {
			t.Errorf("first line %q, %v", line, err)
		}
		if err := cmd.Process.Signal(c.sig); err != nil {
			t.Error(err)
		}
		err = cmd.Wait()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 128+int(c.sig) {
			t.Errorf("%v of a guest that does %s: %v, want exit code %d; said %q", c.sig, c.mode, err, 128+int(c.sig), stderr.String())
		}
	}
}
