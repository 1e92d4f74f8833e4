// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"xenvmm/tests/lab/wire"
)

// maxTree bounds what one program is sent, in bytes.
const maxTree = 1 << 30

// job is a program whose files are there.
type job struct {
	id   uint32
	exec wire.Exec
}

// source is where a file's content comes from.
type source struct {
	path string
	data []byte
}

func (s source) open() (io.ReadCloser, error) {
	if s.path == "" {
		return io.NopCloser(bytes.NewReader(s.data)), nil
	}
	return os.Open(s.path)
}

// manifest collects the files of one program.
type manifest struct {
	files   []wire.File
	sources []source
	dirs    []string
	seen    map[string]bool
	size    int64
}

// prepare sends a program's files and makes its root.
func (h *Host) prepare(ctx context.Context, c *Cmd) (*job, error) {
	program, err := filepath.Abs(c.Path)
	if err != nil {
		return nil, err
	}
	if c.Dir == "" {
		c.Dir = "/tmp"
	}
	m := &manifest{seen: map[string]bool{}, dirs: append([]string{c.Dir}, c.Dirs...)}
	if err := m.addProgram(program); err != nil {
		return nil, err
	}
	for _, p := range c.Programs {
		p, err := filepath.Abs(p)
		if err == nil {
			err = m.addProgram(p)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, f := range c.Files {
		if err := m.add(f); err != nil {
			return nil, err
		}
	}
	h.mu.Lock()
	h.lastID++
	id := h.lastID
	h.mu.Unlock()
	if err := h.send(ctx, id, m); err != nil {
		return nil, err
	}
	return &job{id: id, exec: wire.Exec{
		Root: id, Path: program, Args: append([]string{program}, c.Args...), Env: withBasics(c.Env), Dir: c.Dir,
		Terminal: c.Terminal.wire(),
	}}, nil
}

// withBasics adds what nearly every program expects.
func withBasics(env []string) []string {
	out := append([]string(nil), env...)
	for _, kv := range []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "XENVMM_IN_LAB=1"} {
		name, _, _ := strings.Cut(kv, "=")
		found := false
		for _, e := range env {
			found = found || strings.HasPrefix(e, name+"=")
		}
		if !found {
			out = append(out, kv)
		}
	}
	return out
}

// add puts a file, or everything below a directory, into the manifest.
func (m *manifest) add(f File) error {
	if !path.IsAbs(f.To) {
		return fmt.Errorf("lab: file for the host: %q is not an absolute path", f.To)
	}
	if f.From == "" {
		if f.Mode == 0 {
			f.Mode = 0o644
		}
		sum := sha256.Sum256(f.Data)
		return m.put(wire.File{Path: f.To, Mode: uint32(f.Mode.Perm()), Size: int64(len(f.Data)), SHA256: hex.EncodeToString(sum[:])}, source{data: f.Data})
	}
	st, err := os.Stat(f.From)
	if err != nil {
		return fmt.Errorf("lab: file for the host: %w", err)
	}
	if !st.IsDir() {
		return m.addFile(f, st)
	}
	return filepath.WalkDir(f.From, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(f.From, p)
		if err != nil {
			return err
		}
		to := path.Join(f.To, filepath.ToSlash(rel))
		switch {
		case d.IsDir():
			m.dirs = append(m.dirs, to)
			return nil
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			return m.put(wire.File{Path: to, Link: target}, source{})
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return m.addFile(File{From: p, To: to}, info)
	})
}

func (m *manifest) addFile(f File, st fs.FileInfo) error {
	if !st.Mode().IsRegular() {
		return fmt.Errorf("lab: file for the host: %s is not a regular file", f.From)
	}
	in, err := os.Open(f.From)
	if err != nil {
		return fmt.Errorf("lab: file for the host: %w", err)
	}
	defer in.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(in, maxTree+1))
	if err != nil {
		return fmt.Errorf("lab: file for the host: %w", err)
	}
	if f.Mode == 0 {
		f.Mode = st.Mode()
	}
	return m.put(wire.File{Path: f.To, Mode: uint32(f.Mode.Perm()), Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))}, source{path: f.From})
}

// put adds one line; a later file of the same path is ignored.
func (m *manifest) put(f wire.File, s source) error {
	f.Path = path.Clean(f.Path)
	if m.seen[f.Path] {
		return nil
	}
	if f.Size > maxTree-m.size {
		return fmt.Errorf("lab: files for the host: more than %d bytes with %s", int64(maxTree), f.Path)
	}
	m.seen[f.Path] = true
	m.size += f.Size
	m.files = append(m.files, f)
	m.sources = append(m.sources, s)
	return nil
}
