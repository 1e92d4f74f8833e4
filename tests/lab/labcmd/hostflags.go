// SPDX-License-Identifier: Apache-2.0

package labcmd

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"xenvmm/tests/lab"
)

// HostFlags choose a lab host.
type HostFlags struct {
	Host   string   `help:"Lab host: see 'lab list'." default:"debian-6.12" placeholder:"NAME"`
	CPUs   int      `name:"cpus" help:"Processors of the host, up to 16." default:"2" placeholder:"N"`
	Memory mib      `help:"Memory of the host, in MiB or with a suffix: 2048, 2048M, 2G." default:"2048" placeholder:"SIZE"`
	Accel  string   `help:"What the host runs on: kvm, where this machine's KVM lets guests virtualise; tcg, the software emulator; auto, the first that works." enum:"auto,kvm,tcg" default:"auto"`
	NIC    []nic    `name:"nic" help:"Network interface, PCI device 0000:00:10.0, the next 11.0 and so on. 'user': the outside world through QEMU, address set up; 'hub=N': the host's other interfaces of that number. 'model=' virtio, e1000e or e1000; 'vfio': left to vfio-pci, with an IOMMU. May be repeated." placeholder:"user|hub=N[,model=M][,vfio]" sep:"none"`
	Module []string `help:"Load a kernel module more, with what it needs. May be repeated." placeholder:"NAME" sep:"none"`
}

// config is the host's configuration, with self as its init.
func (f HostFlags) config(self string) lab.Config {
	c := lab.Config{Kernel: f.Host, CPUs: f.CPUs, MemoryMiB: int(f.Memory), Accel: lab.Accel(f.Accel), Modules: f.Module, Init: self,
		Note: func(format string, args ...any) { fmt.Fprintf(os.Stderr, "lab: "+format+"\n", args...) }}
	for _, n := range f.NIC {
		c.NICs = append(c.NICs, n.NIC)
	}
	return c
}

// args are the flags again, for another process.
func (f HostFlags) args() []string {
	out := []string{"--host", f.Host, "--cpus", strconv.Itoa(f.CPUs), "--memory", strconv.Itoa(int(f.Memory)), "--accel", f.Accel}
	for _, n := range f.NIC {
		out = append(out, "--nic", n.text)
	}
	for _, m := range f.Module {
		out = append(out, "--module", m)
	}
	return out
}

// initSelf is the init's program: the running one, unless the embedding
// program says otherwise.
func initSelf(self string) (string, error) {
	if self != "" {
		return self, nil
	}
	return os.Executable()
}

// mib is an amount of memory in MiB.
type mib int

// UnmarshalText takes MiB, or a number with M, G or T.
func (m *mib) UnmarshalText(p []byte) error {
	digits := strings.TrimRight(string(p), "MGTiBmgtb")
	shift, ok := map[string]int{"": 0, "M": 0, "G": 10, "T": 20}[strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(string(p[len(digits):])), "B"), "I")]
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || !ok {
		return fmt.Errorf("%q is no amount of memory: want MiB, or a number with M or G", p)
	}
	*m = mib(n << shift)
	return nil
}

// nic is a network interface as given on the command line.
type nic struct {
	lab.NIC
	text string
}

// UnmarshalText reads user|hub=N[,model=M][,vfio].
func (n *nic) UnmarshalText(p []byte) error {
	*n = nic{text: string(p)}
	parts := strings.Split(n.text, ",")
	if where, isHub := strings.CutPrefix(parts[0], "hub="); isHub {
		hub, err := strconv.Atoi(where)
		if err != nil || hub < 1 {
			return fmt.Errorf("%q: the hub is a number from 1", p)
		}
		n.Hub = hub
	} else if parts[0] != "user" {
		return fmt.Errorf("%q: a network interface is user or hub=N, then options", p)
	}
	for _, o := range parts[1:] {
		if model, ok := strings.CutPrefix(o, "model="); ok {
			n.Model = model
		} else if o == "vfio" {
			n.VFIO = true
		} else {
			return fmt.Errorf("%q: unknown option %q: want model=virtio|e1000e|e1000 or vfio", p, o)
		}
	}
	return nil
}
