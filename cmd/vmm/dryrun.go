// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"xenvmm/guest"
	"xenvmm/vmm"
	"xenvmm/vmm/boot"
)

// dryRunStorm shows the machine of the default run.
func (r *runCmd) dryRunStorm(s stdio) error {
	image, ok := guest.Image("storm")
	if !ok {
		return errNoStorm
	}
	return r.dryRun(vmm.Config{Kernel: image, KernelName: "storm (embedded)", CPUs: 2, Cmdline: r.Cmdline}, s)
}

// dryRun checks a configuration and shows what it comes to, without KVM.
func (r *runCmd) dryRun(cfg vmm.Config, s stdio) error {
	flags, con, err := r.config(stdio{err: s.err}, io.Discard, nil, nil)
	if err != nil {
		return err
	}
	con.Close()
	if flags.CPUs != 0 {
		cfg.CPUs = flags.CPUs
	}
	cfg.Memory, cfg.Guard = flags.Memory, flags.Guard
	cfg = cfg.WithDefaults()
	img, err := vmm.Plan(cfg)
	if err != nil {
		return err
	}
	if r.JSON {
		return printJSON(s.out, img)
	}
	return printPlan(s.out, cfg, img)
}

func printPlan(w io.Writer, cfg vmm.Config, img *boot.Image) error {
	_, err := fmt.Fprintf(w, "cpus %d\nmemory %s\nguard %s\n%s", cfg.CPUs, vmm.FormatBytes(cfg.Memory), cfg.Guard, img)
	return err
}
