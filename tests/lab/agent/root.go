// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"xenvmm/tests/lab/wire"
)

// rootsDir holds one directory per program.
const rootsDir = "/run/lab/roots"

// smallFiles are what C libraries and Go's net and os/user packages look for.
var smallFiles = map[string]string{
	"etc/passwd":        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
	"etc/group":         "root:x:0:\nnogroup:x:65534:\n",
	"etc/hosts":         "127.0.0.1 localhost lab\n::1 localhost lab\n",
	"etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}

// rootMounts come into every root. devtmpfs is the same file system each time.
var rootMounts = []mountpoint{
	{"proc", "proc", safe, ""},
	{"sys", "sysfs", safe, ""},
	{"sys/fs/cgroup", "cgroup2", safe, ""},
	{"dev", "devtmpfs", unix.MS_NOSUID, ""},
	{"dev/pts", "devpts", unix.MS_NOSUID | unix.MS_NOEXEC, "mode=0620,ptmxmode=0666"},
	{"dev/shm", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
}

func rootDir(id uint32) string { return filepath.Join(rootsDir, strconv.FormatUint(uint64(id), 10)) }

// inside turns a program's absolute path into one relative to its root.
func inside(p string) (string, error) {
	if !path.IsAbs(p) || strings.IndexByte(p, 0) >= 0 {
		return "", fmt.Errorf("path %q is not absolute", p)
	}
	rel := strings.TrimPrefix(path.Clean(p), "/")
	if rel == "" {
		return ".", nil
	}
	return rel, nil
}

// makeRoot builds a program's root out of cached files.
func makeRoot(p *wire.Prepare, c *cache, resolv string) (err error) {
	dir := rootDir(p.Root)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			removeRoot(p.Root)
		}
	}()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, d := range []string{"tmp", "var/tmp", "etc", "root", "run", "bin"} {
		if err := root.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	for _, d := range []string{"tmp", "var/tmp"} {
		if err := root.Chmod(d, fs.ModeSticky|0o777); err != nil {
			return err
		}
	}
	for name, text := range smallFiles {
		if err := root.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := root.WriteFile("etc/resolv.conf", []byte(resolv), 0o644); err != nil {
		return err
	}
	for _, d := range p.Dirs {
		rel, err := inside(d)
		if err != nil {
			return err
		}
		if err := root.MkdirAll(rel, 0o755); err != nil {
			return fmt.Errorf("directory %s: %w", d, err)
		}
	}
	for _, f := range p.Files {
		if err := placeFile(f, root, dir, c); err != nil {
			return fmt.Errorf("file %s: %w", f.Path, err)
		}
	}
	for _, m := range rootMounts {
		m.dir = filepath.Join(dir, m.dir)
		if err := m.mount(); err != nil {
			return err
		}
	}
	return nil
}

func placeFile(f wire.File, root *os.Root, dir string, c *cache) error {
	rel, err := inside(f.Path)
	if err != nil {
		return err
	}
	if err := root.MkdirAll(path.Dir(rel), 0o755); err != nil {
		return err
	}
	if f.Link != "" {
		_ = root.Remove(rel)
		return root.Symlink(f.Link, rel)
	}
	return c.place(f, root, dir, rel)
}

// removeRoot unmounts and deletes a root, whatever state it is in.
func removeRoot(id uint32) {
	dir := rootDir(id)
	// The program may have mounted more, so ask the kernel what is there.
	for _, m := range mountsBelow(dir) {
		_ = unix.Unmount(m, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	}
	if len(mountsBelow(dir)) > 0 {
		return // deleting would reach into /dev or /sys
	}
	_ = os.RemoveAll(dir)
}

// mountsBelow lists mount points below dir, the deepest first.
func mountsBelow(dir string) []string {
	p, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return []string{dir}
	}
	var out []string
	for line := range strings.Lines(string(p)) {
		f := strings.Fields(line)
		if len(f) > 1 && strings.HasPrefix(unescape(f[1]), dir+"/") {
			out = append([]string{unescape(f[1])}, out...)
		}
	}
	return out
}

// unescape undoes the octal escapes of /proc/self/mounts.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// listTree lists a file or a directory's content in a root.
func listTree(l *wire.List) ([]wire.Entry, error) {
	rel, err := inside(l.Path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(rootDir(l.Root))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var out []wire.Entry
	err = fs.WalkDir(root.FS(), rel, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() && !d.Type().IsRegular() {
			return nil // links, sockets and devices stay behind
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(rel, p)
		if err != nil {
			return err
		}
		out = append(out, wire.Entry{Path: name, Mode: uint32(info.Mode().Perm()), Size: info.Size(), Dir: d.IsDir()})
		return nil
	})
	return out, err
}

// fetch reads a piece of a file of a root into buf.
func fetch(f *wire.Fetch, buf []byte) (int64, error) {
	rel, err := inside(f.Path)
	if err != nil {
		return 0, err
	}
	root, err := os.OpenRoot(rootDir(f.Root))
	if err != nil {
		return 0, err
	}
	defer root.Close()
	file, err := root.Open(rel)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	n, err := file.ReadAt(buf, f.Off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return int64(n), err
}
