// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"

	"xenvmm/tests/lab/elfdeps"
	"xenvmm/tests/lab/initramfs"
	"xenvmm/tests/lab/kernel"
	"xenvmm/tests/lab/wire"
)

// makeInitramfs packs the init, the modules and their description into an
// anonymous file.
func makeInitramfs(ctx context.Context, c Config, k *kernel.Kernel, p platform) (*os.File, error) {
	modules, err := k.LoadOrder(slices.Concat([]string{p.module}, c.nicModules(), c.Modules)...)
	if err != nil {
		return nil, err
	}
	boot := wire.Boot{WithoutKVM: c.WithoutKVM, SpareCPUs: p.spareCPUs(), NICs: c.wireNICs(), CacheBytes: int64(c.MemoryMiB) << 20 / 8}
	var entries []initramfs.Entry
	add := func(to, from string, mode os.FileMode) error {
		p, err := os.ReadFile(from)
		entries = append(entries, initramfs.Entry{Path: to, Mode: mode, Data: p})
		return err
	}
	for i, m := range modules {
		to := path.Join("/lab/modules", fmt.Sprintf("%02d-%s.ko", i, m))
		boot.Modules = append(boot.Modules, to)
		if err := add(to, k.ModuleFile(m), 0o644); err != nil {
			return nil, err
		}
	}
	program, err := InitProgram(ctx, c.Init)
	if err != nil {
		return nil, err
	}
	if err := add("/init", program, 0o755); err != nil {
		return nil, err
	}
	libs, err := elfdeps.Closure(program)
	if err != nil {
		return nil, fmt.Errorf("init: %w", err)
	}
	for _, l := range libs {
		if err := add(l, l, 0o755); err != nil {
			return nil, err
		}
	}
	desc, err := json.Marshal(boot)
	if err != nil {
		return nil, err
	}
	entries = append(entries, initramfs.Entry{Path: wire.ConfigPath, Mode: 0o644, Data: desc})
	f, err := memfd("initramfs", 0)
	if err != nil {
		return nil, err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	err = initramfs.Write(w, entries)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
