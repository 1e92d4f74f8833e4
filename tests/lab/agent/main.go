// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"xenvmm/tests/lab/wire"
)

// cmdlineFlag on the kernel's command line marks a lab host.
const cmdlineFlag = "xenvmm.lab=1"

// KernelArgs are what a lab host's kernel command line must hold for IsInit.
func KernelArgs() string { return "rdinit=/init " + cmdlineFlag }

// IsInit tells whether this process is the init of a lab host.
func IsInit() bool {
	if os.Getpid() != 1 {
		return false
	}
	// Nothing is mounted yet when the kernel starts its init.
	if err := mountProc(); err != nil {
		return false
	}
	p, err := os.ReadFile("/proc/cmdline")
	return err == nil && strings.Contains(" "+strings.TrimSpace(string(p))+" ", " "+cmdlineFlag+" ")
}

// Main is the whole life of an init. It never returns.
func Main() {
	if err := serve(); err != nil {
		fmt.Fprintf(os.Stderr, "lab init: %v\n", err)
	}
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	select {} // an init that ends is a kernel panic
}

func serve() error {
	reap := newReaper()
	// The channel's driver may be a module, so an error up to there is told
	// only afterwards, or, without a channel, on the console.
	boot, prepareErr := prepare()
	port, err := openPort(wire.PortName)
	if err != nil {
		return errors.Join(prepareErr, err)
	}
	hello := wire.Hello{Version: wire.Version}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		hello.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	conn := wire.NewConn(port)
	fail := func(err error) error {
		hello.Error = err.Error()
		_ = conn.WriteJSON(wire.KindHello, 0, hello)
		return err
	}
	if prepareErr != nil {
		return fail(prepareErr)
	}
	window, err := openWindow()
	if err != nil {
		return fail(err)
	}
	if !boot.WithoutKVM {
		held, err := holdKVM()
		if err != nil {
			return fail(err)
		}
		defer held()
	}
	resolv, err := setupNICs(boot.NICs)
	if err != nil {
		return fail(err)
	}
	if err := makePrograms(boot.SpareCPUs); err != nil {
		return fail(err)
	}
	cpus, err := onlineCPUs()
	if err != nil {
		return fail(err)
	}
	if err := keepFree(boot.SpareCPUs, cpus); err != nil {
		return fail(err)
	}
	hello.CPUs = cpus - boot.SpareCPUs
	hello.Window = int64(len(window))
	if err := conn.WriteJSON(wire.KindHello, 0, hello); err != nil {
		return err
	}
	s := newServer(conn, window, boot.CacheBytes, resolv, reap)
	return s.run()
}

// prepare makes the kernel ready, drivers included.
func prepare() (wire.Boot, error) {
	if err := setup(); err != nil {
		return wire.Boot{}, err
	}
	boot, err := readBoot()
	if err != nil {
		return boot, err
	}
	return boot, loadModules(boot.Modules)
}

func readBoot() (wire.Boot, error) {
	var b wire.Boot
	p, err := os.ReadFile(wire.ConfigPath)
	if err != nil {
		return b, err
	}
	if err := json.Unmarshal(p, &b); err != nil {
		return b, fmt.Errorf("%s: %w", wire.ConfigPath, err)
	}
	return b, nil
}
