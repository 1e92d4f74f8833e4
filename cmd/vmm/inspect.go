// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"

	"xenvmm/vmm"
	"xenvmm/vmm/boot"
)

// inspectCmd is vmm inspect.
type inspectCmd struct {
	Kernel string `arg:"" help:"Kernel file." placeholder:"KERNEL"`
	JSON   bool   `name:"json" help:"Print one JSON object."`
}

// Run implements the verb.
func (c *inspectCmd) Run(s stdio) error {
	f, err := os.Open(c.Kernel)
	if err != nil {
		return &vmm.ConfigError{Field: "kernel", Value: c.Kernel, Remedy: "it cannot be read", Err: err}
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return &vmm.ConfigError{Field: "kernel", Value: c.Kernel, Remedy: "it cannot be read", Err: err}
	}
	if !st.Mode().IsRegular() {
		return &vmm.ConfigError{Field: "kernel", Value: c.Kernel, Remedy: "it is no regular file"}
	}
	rep, err := boot.Inspect(f, st.Size())
	if err != nil {
		return &vmm.ConfigError{Field: "kernel", Value: c.Kernel, Remedy: "it cannot be understood", Err: err}
	}
	if c.JSON {
		return printJSON(s.out, rep)
	}
	_, err = io.WriteString(s.out, rep.String())
	return err
}
