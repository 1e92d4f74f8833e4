// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Edit replaces text that occurs exactly once in a source file.
type Edit struct{ File, Old, New string }

// Overlay writes the edited files of the package directory dir to tmp and
// returns the path of a file for the go command's -overlay flag.
func Overlay(dir, tmp string, edits []Edit) (path string, err error) {
	sources := map[string]string{}
	for _, e := range edits {
		name, err := filepath.Abs(filepath.Join(dir, e.File))
		if err != nil {
			return "", err
		}
		text, ok := sources[name]
		if !ok {
			b, err := os.ReadFile(name)
			if err != nil {
				return "", err
			}
			text = string(b)
		}
		if n := strings.Count(text, e.Old); n != 1 {
			return "", fmt.Errorf("%s contains %d times, not once: %q", e.File, n, e.Old)
		}
		sources[name] = strings.Replace(text, e.Old, e.New, 1)
	}
	replace := map[string]string{}
	for name, text := range sources {
		mutated := filepath.Join(tmp, filepath.Base(name))
		if err := os.WriteFile(mutated, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[name] = mutated
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path = filepath.Join(tmp, "overlay.json")
	return path, os.WriteFile(path, b, 0o600)
}
