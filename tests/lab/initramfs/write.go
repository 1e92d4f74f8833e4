// SPDX-License-Identifier: Apache-2.0

package initramfs

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"sort"
	"strings"

	"github.com/cavaliergopher/cpio"
)

// Entry is one file, directory or symbolic link.
type Entry struct {
	Path string      // relative to the root, slash-separated
	Mode fs.FileMode // permission bits, plus ModeDir or ModeSymlink
	Data []byte      // content, or a link's target
}

// Write packs entries, adding the directories they need (0755). Two entries
// of one path are an error.
func Write(w io.Writer, entries []Entry) error {
	all, err := withParents(entries)
	if err != nil {
		return err
	}
	cw := cpio.NewWriter(w)
	for i, e := range all {
		h := &cpio.Header{Name: e.Path, Inode: int64(i + 1), Links: 1, Size: int64(len(e.Data)), Mode: cpio.FileMode(e.Mode.Perm())}
		switch e.Mode.Type() {
		case 0:
			h.Mode |= cpio.TypeReg
		case fs.ModeDir:
			h.Mode |= cpio.TypeDir
			h.Links, h.Size, e.Data = 2, 0, nil
		case fs.ModeSymlink:
			h.Mode |= cpio.TypeSymlink // its content is the target
		default:
			return fmt.Errorf("pack %s: mode %v is neither file, directory nor link", e.Path, e.Mode)
		}
		if err := cw.WriteHeader(h); err != nil {
			return fmt.Errorf("pack %s: %w", e.Path, err)
		}
		if _, err := cw.Write(e.Data); err != nil {
			return fmt.Errorf("pack %s: %w", e.Path, err)
		}
	}
	return cw.Close()
}

// withParents returns cleaned entries, parents before children.
func withParents(entries []Entry) ([]Entry, error) {
	seen := map[string]Entry{}
	for _, e := range entries {
		p := path.Clean(strings.TrimLeft(e.Path, "/"))
		if p == "." || p == ".." || strings.HasPrefix(p, "../") {
			return nil, fmt.Errorf("pack %q: not a path inside the archive", e.Path)
		}
		if _, dup := seen[p]; dup {
			return nil, fmt.Errorf("pack %s: listed twice", p)
		}
		e.Path = p
		seen[p] = e
	}
	for _, e := range entries {
		p := path.Clean(strings.TrimLeft(e.Path, "/"))
		for d := path.Dir(p); d != "."; d = path.Dir(d) {
			have, ok := seen[d]
			if !ok {
				seen[d] = Entry{Path: d, Mode: fs.ModeDir | 0o755}
			} else if !have.Mode.IsDir() {
				return nil, fmt.Errorf("pack %s: %s is not a directory", p, d)
			}
		}
	}
	all := make([]Entry, 0, len(seen))
	for _, e := range seen {
		all = append(all, e)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Path < all[j].Path })
	return all, nil
}
