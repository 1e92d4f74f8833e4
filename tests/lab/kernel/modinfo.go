// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"bytes"
	"debug/elf"
	"fmt"
	"path"
	"strings"
)

// Kernel packages carry no modules.dep: it is made on installation. So
// dependencies come from where depmod takes them: the section .modinfo of each
// module, NUL-terminated strings key=value.

// moduleName turns a file name (kvm-amd.ko.xz) into the kernel's name for the
// module (kvm_amd). ok is false for other files.
func moduleName(file string) (name string, ok bool) {
	base := path.Base(file)
	name, rest, ok := strings.Cut(base, ".ko")
	if !ok || name == "" {
		return "", false
	}
	switch rest {
	case "", ".xz", ".zst", ".gz":
		return canonical(name), true
	}
	return "", false
}

func canonical(name string) string { return strings.ReplaceAll(name, "-", "_") }

// parseDepends returns the modules that the given one (ELF bytes) needs.
func parseDepends(module []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(module))
	if err != nil {
		return nil, fmt.Errorf("module: %w", err)
	}
	defer f.Close()
	s := f.Section(".modinfo")
	if s == nil {
		return nil, fmt.Errorf("module: no section .modinfo")
	}
	info, err := s.Data()
	if err != nil {
		return nil, fmt.Errorf("module: .modinfo: %w", err)
	}
	return dependsOf(info), nil
}

// dependsOf reads the content of a section .modinfo.
func dependsOf(info []byte) []string {
	var deps []string
	for _, kv := range bytes.Split(info, []byte{0}) {
		v, ok := bytes.CutPrefix(kv, []byte("depends="))
		if !ok {
			continue
		}
		for _, d := range strings.Split(string(v), ",") {
			if d = strings.TrimSpace(d); d != "" {
				deps = append(deps, canonical(d))
			}
		}
	}
	return deps
}

// LoadOrder returns the modules to load for a host: those of the lab's devices
// and the named ones, every module after those it needs. Of the first, those
// that the kernel has built in are left out: they have no file. The named ones
// must have one.
func (k *Kernel) LoadOrder(extra ...string) ([]string, error) {
	have := make(map[string][]string, len(k.Modules))
	for _, m := range k.Modules {
		have[m.Name] = m.Depends
	}
	for _, n := range extra {
		if _, ok := have[canonical(n)]; !ok {
			return nil, fmt.Errorf("lab host %s: no module %q in the cache: it is built in, or unknown to the lab", k.Name, n)
		}
	}
	return order(have, append(append([]string(nil), hostModules...), extra...)), nil
}

// order sorts the closure of names so that needs come first. A name without
// an entry in have is built in and skipped; a cycle ends where it closes.
func order(have map[string][]string, names []string) []string {
	var out []string
	seen := map[string]bool{}
	var visit func(string)
	visit = func(n string) {
		n = canonical(n)
		deps, ok := have[n]
		if seen[n] || !ok {
			return
		}
		seen[n] = true
		for _, d := range deps {
			visit(d)
		}
		out = append(out, n)
	}
	for _, n := range names {
		visit(n)
	}
	return out
}
