// SPDX-License-Identifier: Apache-2.0

package labcmd

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"xenvmm/tests/lab/kernel"
)

// ListCmd is the verb list.
type ListCmd struct {
	Files bool `help:"Show where the kernels are: vmlinux, vmlinuz and modules."`
}

// Run lists the kernels, one a line: name, use, release, summary.
func (c *ListCmd) Run() error { return c.list(os.Stdout) }

func (c *ListCmd) list(out io.Writer) error {
	if _, err := kernel.CacheDir(); err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tUSE\tKERNEL\tSUMMARY")
	for _, s := range kernel.Specs() {
		use := "guest"
		if s.Host {
			use = "host, guest"
		}
		release := "not set up"
		k, err := kernel.Open(s.Name)
		if err == nil {
			release = k.Release
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Name, use, release, s.Summary)
		if c.Files && err == nil {
			for _, f := range []string{k.Vmlinux(), k.Vmlinuz(), filepath.Join(k.Dir, "modules")} {
				fmt.Fprintf(w, "\t\t\t%s\n", f)
			}
		}
	}
	return w.Flush()
}
