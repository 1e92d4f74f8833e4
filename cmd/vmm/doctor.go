// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"text/tabwriter"

	"golang.org/x/sys/unix"

	"xenvmm/gpc"
	"xenvmm/gpc/srcu"
	"xenvmm/gpc/srcu/rseq"
	"xenvmm/vmm/kvm"
)

// doctorCmd is vmm doctor.
type doctorCmd struct {
	Device string `help:"KVM device." default:"/dev/kvm" placeholder:"PATH"`
	JSON   bool   `name:"json" help:"Print one JSON object."`
}

// finding is one thing the doctor looked at.
type finding struct {
	Name   string `json:"name"`
	State  string `json:"state"` // "ok", "missing" (guests run without it) or "needed"
	Value  string `json:"value,omitempty"`
	Use    string `json:"use,omitempty"`
	Remedy string `json:"remedy,omitempty"`
}

const (
	stateOK      = "ok"
	stateMissing = "missing"
	stateNeeded  = "needed"
)

// Run implements the verb: exit code 0 if guests can run here, else 3.
func (c *doctorCmd) Run(s stdio) error {
	findings := c.examine()
	can := true
	for _, f := range findings {
		can = can && f.State != stateNeeded
	}
	if c.JSON {
		if err := printJSON(s.out, struct {
			CanRun   bool      `json:"can_run_guests"`
			Findings []finding `json:"findings"`
		}{can, findings}); err != nil {
			return err
		}
	} else if err := printFindings(s.out, findings, can); err != nil {
		return err
	}
	if !can {
		return exitCode(exitHost)
	}
	return nil
}

func (c *doctorCmd) examine() []finding {
	var u unix.Utsname
	_ = unix.Uname(&u)
	out := []finding{
		{Name: "kernel", State: stateOK, Value: unix.ByteSliceToString(u.Release[:])},
		{Name: "processors", State: stateOK, Value: fmt.Sprint(runtime.NumCPU())},
		gracePeriods(gpc.WaitPolicy()),
	}
	sys, err := kvm.Open(c.Device)
	if err != nil {
		out = append(out, finding{Name: c.Device, State: stateNeeded, Value: err.Error(), Use: "running guests", Remedy: labRemedy})
		return append(out, others()...)
	}
	defer sys.Close()
	out = append(out, finding{Name: c.Device, State: stateOK})
	for _, p := range kvm.Probe(sys) {
		f := finding{Name: p.Name, State: stateOK, Value: fmt.Sprintf("%#x", p.Have), Use: p.Use}
		if !p.OK() {
			f.State, f.Remedy = stateMissing, p.Remedy
			if p.Needed {
				f.State = stateNeeded
			}
		}
		out = append(out, f)
	}
	return append(out, others()...)
}

const labRemedy = "on a machine with VMX or SVM load kvm_intel or kvm_amd and see that you may open the device; elsewhere `vmm lab exec -- vmm run` gives a host with KVM inside an emulator"

// gracePeriods tells how changes of guest memory wait for threads that deliver
// events, given the way that is in use and why it is not the best one.
func gracePeriods(mode srcu.Wait, err error) finding {
	f := finding{Name: "grace periods", State: stateOK, Value: string(mode)}
	if err == nil {
		return f
	}
	f.State = stateMissing
	f.Use = "changes of guest memory that do not wait for a descheduled thread"
	f.Value = fmt.Sprintf("wait policy is %s: %v", mode, err)
	f.Remedy = "report this as a fault of the program"
	if e, ok := errors.AsType[*rseq.Error](err); ok {
		f.Value, f.Remedy = fmt.Sprintf("wait policy is %s: %s: %v", mode, e.Call, e.Cause), e.Remedy
	}
	return f
}

// others looks at what is no part of KVM.
func others() []finding {
	var out []finding
	for _, d := range []struct{ path, use, remedy string }{
		{"/dev/net/tun", "network devices", "modprobe tun"},
		{"/dev/vfio/vfio", "passing devices through", "modprobe vfio-pci on a host with an IOMMU"},
	} {
		f := finding{Name: d.path, State: stateOK, Use: d.use}
		if _, err := os.Stat(d.path); err != nil {
			f.State, f.Remedy = stateMissing, d.remedy
		}
		out = append(out, f)
	}
	return out
}

func printFindings(w io.Writer, findings []finding, can bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		text := f.Value
		if f.State != stateOK {
			text = f.Use
			if f.Value != "" {
				text += ": " + f.Value
			}
			text += "; " + f.Remedy
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.State, f.Name, text)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	answer := "Guests can run here."
	if !can {
		answer = "Guests cannot run here: see what is needed above."
	}
	_, err := fmt.Fprintln(w, answer)
	return err
}
