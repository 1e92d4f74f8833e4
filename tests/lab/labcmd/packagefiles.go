// SPDX-License-Identifier: Apache-2.0

package labcmd

import (
	"os"
	"path/filepath"

	"xenvmm/tests/lab"
)

// maxPackageFile leaves out what can hardly be a source, in bytes: programs
// that somebody built beside their source.
const maxPackageFile = 2 << 20

// packageFiles lists what a test program finds around it when `go test` runs
// it here: the files of its package's directory, testdata below it, and the
// module's go.mod and go.sum. The rest of the module stays behind.
func packageFiles(dir string) ([]lab.File, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []lab.File
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir() && e.Name() == "testdata":
			out = append(out, lab.File{From: p, To: p})
		case e.Type().IsRegular():
			if st, err := e.Info(); err == nil && st.Size() <= maxPackageFile {
				out = append(out, lab.File{From: p, To: p})
			}
		}
	}
	for up := dir; ; up = filepath.Dir(up) {
		mod := filepath.Join(up, "go.mod")
		if _, err := os.Stat(mod); err == nil {
			for _, p := range []string{mod, filepath.Join(up, "go.sum")} {
				if _, err := os.Stat(p); err == nil && up != dir {
					out = append(out, lab.File{From: p, To: p})
				}
			}
			return out, nil
		}
		if up == filepath.Dir(up) {
			return out, nil
		}
	}
}
