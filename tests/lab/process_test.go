// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// parentEnv makes this test program the parent of TestAChildEndsWithItsParent.
const parentEnv = "XENVMM_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentEnv) != "" {
		p, err := startProcess(exec.Command("sleep", "1000"))
		if err != nil {
			os.Exit(1)
		}
		_, _ = os.Stdout.WriteString(strconv.Itoa(p.cmd.Process.Pid) + "\n")
		select {}
	}
	os.Exit(m.Run())
}

// waitGone waits until a process has ended, by a descriptor that can't mean
// another process.
func waitGone(t *testing.T, pidfd int, what string) {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for deadline := time.Now().Add(30 * time.Second); ; {
		n, err := unix.Poll(fds, int(time.Until(deadline).Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			t.Fatalf("%s is still there (%v)", what, err)
		}
		return
	}
}

func pidfd(t *testing.T, pid int) int {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatalf("process %d: %v", pid, err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

func TestAChildEndsWithItsParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentEnv+"=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	child := pidfd(t, pid)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	waitGone(t, child, "the child")
}

func TestKillEndsTheGroup(t *testing.T) {
	// The shell's child is in the group and would outlive the shell.
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo $!; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := startProcess(cmd)
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	grandchild := pidfd(t, pid)
	p.kill()
	p.kill()
	waitGone(t, grandchild, "the grandchild")
}

func TestAProgramThatDoesNotStartIsAnError(t *testing.T) {
	if _, err := startProcess(exec.Command("/nonexistent")); err == nil {
		t.Error("no error")
	}
}
