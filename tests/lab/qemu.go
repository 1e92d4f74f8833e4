// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"xenvmm/tests/lab/agent"
	"xenvmm/tests/lab/kernel"
	"xenvmm/tests/lab/wire"
)

// Descriptors the emulator inherits, by number.
const (
	fdChannel = 3 + iota
	fdWindow
	fdInitramfs
)

// windowSize is the transfer window's size in bytes: a power of two, as PCI
// wants it.
const windowSize = 64 << 20

// qemuArgs is the command line, chosen by measurement: an uncompressed kernel
// entered through PVH, no firmware devices, no mitigations, the timer taken on
// trust.
func qemuArgs(c Config, k *kernel.Kernel, p platform) []string {
	args := slices.Concat([]string{
		"-no-user-config", "-nodefaults", "-display", "none", "-monitor", "none", "-no-reboot",
	}, p.machineArgs(c, k.Spec.ConstantTSC), []string{
		"-smp", strconv.Itoa(c.CPUs + p.spareCPUs()), "-m", strconv.Itoa(c.MemoryMiB),
		"-kernel", k.Vmlinux(), "-initrd", fdPath(fdInitramfs), "-append", kernelArgs(c),
		"-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
		"-chardev", fmt.Sprintf("socket,id=channel,fd=%d", fdChannel),
		"-device", "virtio-serial-pci,id=serial", "-device", "virtserialport,bus=serial.0,chardev=channel,name=" + wire.PortName,
		"-object", fmt.Sprintf("memory-backend-file,id=window,share=on,mem-path=%s,size=%d", fdPath(fdWindow), windowSize),
		"-device", "ivshmem-plain,memdev=window",
	}, c.nicArgs())
	return append(args, c.Devices...)
}

// kernelArgs ends a host at its first oops: what runs after one proves nothing.
// Only one CPU comes up with the kernel; the init brings up the others when
// the kernel's code has settled (agent.onlineCPUs).
func kernelArgs(c Config) string {
	args := []string{
		"console=ttyS0 quiet panic=-1 oops=panic maxcpus=1 noreplace-smp", agent.KernelArgs(),
		"mitigations=off tsc=reliable no_timer_check nokaslr audit=0 apparmor=0 nowatchdog rcupdate.rcu_expedited=1",
	}
	if c.needIOMMU() {
		args = append(args, "intel_iommu=on iommu=pt")
	}
	if c.KernelArgs != "" {
		args = append(args, c.KernelArgs)
	}
	return strings.Join(args, " ")
}

func fdPath(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }
