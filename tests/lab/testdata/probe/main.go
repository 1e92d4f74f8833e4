// SPDX-License-Identifier: Apache-2.0

// Command probe does what the lab's tests need done inside a host.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	if err := do(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func do(verb string, args []string) error {
	switch verb {
	case "pass":
		fmt.Println("to stdout")
		fmt.Fprintln(os.Stderr, "to stderr")
	case "exit":
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		os.Exit(n)
	case "panic":
		panic("on purpose")
	case "killed":
		// Any other signal is first the Go runtime's.
		return unix.Kill(os.Getpid(), unix.SIGKILL)
	case "sayhang":
		fmt.Println("here")
		time.Sleep(time.Hour)
	case "hang":
		time.Sleep(time.Hour)
	case "stubborn":
		signal.Ignore(syscall.SIGQUIT)
		time.Sleep(time.Hour)
	case "flood":
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		for range n {
			if _, err := os.Stdout.Write(make([]byte, 1<<20)); err != nil {
				return err
			}
		}
	case "cpus":
		return cpus()
	case "cat":
		_, err := io.Copy(os.Stdout, os.Stdin)
		return err
	case "touch":
		return os.WriteFile(args[0], nil, 0o644)
	case "exists":
		_, err := os.Stat(args[0])
		return err
	case "copy":
		to := args[len(args)-1]
		for _, from := range args[:len(args)-1] {
			p, err := os.ReadFile(from)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(to, filepath.Base(from)), p, 0o644); err != nil {
				return err
			}
		}
	case "orphan":
		// In a session of its own, with our streams: only the group that the
		// host puts us in holds it.
		c := exec.Command("/proc/self/exe", "hang", "orphaned")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			return err
		}
		fmt.Println("left a child")
	case "processes":
		return noProcess(args[0])
	case "kvm":
		return runGuest()
	case "dial":
		c, err := net.Dial("tcp", args[0])
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = io.Copy(os.Stdout, c)
		return err
	case "vfio":
		return vfioDevice(args[0])
	case "hanghost":
		return hangHost()
	case "crash":
		return os.WriteFile("/proc/sysrq-trigger", []byte("c"), 0)
	}
	return nil
}

// noProcess fails if another process has word in its arguments.
func noProcess(word string) error {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return err
	}
	own := fmt.Sprintf("/proc/%d/cmdline", os.Getpid())
	for _, f := range files {
		p, err := os.ReadFile(f)
		if err == nil && f != own && bytes.Contains(p, []byte(word)) {
			return fmt.Errorf("%s: %q", f, p)
		}
	}
	return nil
}

// vfioDevice fails unless a PCI device is there for VFIO.
func vfioDevice(pci string) error {
	dev := filepath.Join("/sys/bus/pci/devices", pci)
	driver, err := os.Readlink(filepath.Join(dev, "driver"))
	if err != nil {
		return err
	}
	group, err := os.Readlink(filepath.Join(dev, "iommu_group"))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join("/dev/vfio", filepath.Base(group)), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	fmt.Println(filepath.Base(driver))
	return f.Close()
}

// hangHost takes every CPU for ever, with a priority above everybody's.
func hangHost() error {
	if err := os.WriteFile("/proc/sys/kernel/sched_rt_runtime_us", []byte("-1"), 0); err != nil {
		return err
	}
	failed := make(chan error)
	for range 2 * runtime.NumCPU() {
		go func() {
			runtime.LockOSThread()
			if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 99}, 0); err != nil {
				failed <- err
			}
			for {
			}
		}()
	}
	return <-failed
}

// cpus prints how many processors this program has, and the first of them, though
// it asks for all.
func cpus() error {
	var all, have unix.CPUSet
	for i := range 64 {
		all.Set(i)
	}
	n := runtime.NumCPU()
	if err := unix.SchedSetaffinity(0, &all); err != nil {
		return err
	}
	if err := unix.SchedGetaffinity(0, &have); err != nil {
		return err
	}
	first := 0
	for !have.IsSet(first) {
		first++
	}
	fmt.Println(n, have.Count(), first)
	return nil
}
