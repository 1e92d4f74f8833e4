// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"errors"
	"fmt"
	"strings"

	"xenvmm/vmm/kvm"
)

// HostError says what the host lacks and what to do about it.
type HostError struct {
	What   string // such as "/dev/kvm" or "KVM_CAP_IRQFD"
	Remedy string
	Err    error // the cause, may be nil
}

// Error implements error.
func (e *HostError) Error() string {
	s := fmt.Sprintf("this host lacks %s: %s", e.What, e.Remedy)
	if e.Err != nil {
		s += fmt.Sprintf(" (%v)", e.Err)
	}
	return s
}

// Unwrap returns the cause.
func (e *HostError) Unwrap() error { return e.Err }

// openKVM opens the device and checks that all this monitor needs is there.
func openKVM(path string) (*kvm.System, error) {
	sys, err := kvm.Open(path)
	if err != nil {
		return nil, &HostError{What: "a usable " + path, Remedy: kvmRemedy, Err: err}
	}
	var lacking []string
	remedy := ""
	for _, c := range kvm.Probe(sys) {
		if c.Needed && !c.OK() {
			lacking = append(lacking, fmt.Sprintf("%s (Linux %s)", c.Name, c.MinKernel))
			remedy = c.Remedy
		}
	}
	if len(lacking) > 0 {
		return nil, errors.Join(&HostError{What: strings.Join(lacking, ", "), Remedy: remedy}, sys.Close())
	}
	return sys, nil
}

const kvmRemedy = "run `vmm doctor` to see why; `vmm lab exec` gives a host with KVM inside an emulator"

// checkCPUs compares the number of vCPUs with what this KVM allows.
func checkCPUs(sys *kvm.System, n int) error {
	limit, err := sys.CheckExtension(kvm.CapMaxVCPUs)
	if err != nil {
		return err
	}
	if limit > 0 && n > limit {
		return &ConfigError{Field: "cpus", Value: fmt.Sprint(n), Remedy: fmt.Sprintf("this host's KVM allows at most %d", limit)}
	}
	return nil
}
