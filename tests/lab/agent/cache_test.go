// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"xenvmm/tests/lab/wire"
)

func fileOf(content string, mode uint32) wire.File {
	sum := sha256.Sum256([]byte(content))
	return wire.File{Path: "/f", Mode: mode, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}

// put sends content in chunks of n bytes.
func put(t *testing.T, c *cache, f wire.File, content string, n int) {
	t.Helper()
	for off := 0; off == 0 || off < len(content); off += n {
		end := min(off+n, len(content))
		if err := c.add(&wire.Chunk{File: f, Off: int64(off)}, []byte(content[off:end])); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFilesArePlaced(t *testing.T) {
	dir := t.TempDir()
	c := newCache(filepath.Join(dir, "cache"), 1<<20)
	rootDir := filepath.Join(dir, "root")
	if err := os.Mkdir(rootDir, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(rootDir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, f := range map[string]wire.File{"program": fileOf("the content", 0o755), "data": fileOf("the content", 0o640), "empty": fileOf("", 0o600)} {
		content := "the content"[:f.Size]
		if c.has(f) {
			t.Errorf("%s is there before it was sent", name)
		}
		put(t, c, f, content, 4)
		if !c.has(f) {
			t.Fatalf("%s isn't there", name)
		}
		for range 2 { // the second time replaces
			if err := c.place(f, root, rootDir, name); err != nil {
				t.Fatal(err)
			}
		}
		p := filepath.Join(rootDir, name)
		st, err := os.Stat(p)
		if err != nil || uint32(st.Mode().Perm()) != f.Mode {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
		if got, err := os.ReadFile(p); err != nil || string(got) != content {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	// What a program may write to is its own.
	if err := os.WriteFile(filepath.Join(rootDir, "data"), []byte("changed"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := c.place(fileOf("the content", 0o640), root, rootDir, "other"); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(rootDir, "other")); string(got) != "the content" {
		t.Errorf("the cached content is %q", got)
	}
}

func TestChunksComeInOrder(t *testing.T) {
	f, other := fileOf("0123456789", 0o644), fileOf("9876543210", 0o644)
	first := wire.Chunk{File: f}
	for name, bad := range map[string]struct {
		chunk wire.Chunk
		data  string
	}{
		"a gap":        {wire.Chunk{File: f, Off: 6}, "6789"},
		"again":        {wire.Chunk{File: f, Off: 3}, "3456"},
		"another file": {wire.Chunk{File: other, Off: 4}, "5432"},
		"too much":     {wire.Chunk{File: f, Off: 4}, "4567890"},
	} {
		c := newCache(filepath.Join(t.TempDir(), "cache"), 1<<20)
		if err := c.add(&wire.Chunk{File: f, Off: 4}, []byte("x")); !errors.Is(err, errChunk) {
			t.Errorf("no first chunk: %v", err)
		}
		if err := c.add(&first, []byte("0123")); err != nil {
			t.Fatal(err)
		}
		if err := c.add(&bad.chunk, []byte(bad.data)); !errors.Is(err, errChunk) {
			t.Errorf("%s: %v", name, err)
		}
		if c.has(f) {
			t.Errorf("%s: the file is complete", name)
		}
	}
}

func TestOldestFilesGoFirst(t *testing.T) {
	c := newCache(filepath.Join(t.TempDir(), "cache"), 25)
	a, b, d := fileOf("aaaaaaaaaa", 0o644), fileOf("bbbbbbbbbb", 0o644), fileOf("dddddddddd", 0o644)
	put(t, c, a, "aaaaaaaaaa", 10)
	put(t, c, b, "bbbbbbbbbb", 10)
	c.has(a) // used again
	put(t, c, d, "dddddddddd", 10)
	put(t, c, d, "dddddddddd", 10) // sent twice counts once
	c.trim()
	if !c.has(a) || c.has(b) || !c.has(d) || c.size != 20 {
		t.Errorf("left: a %v, b %v, d %v; %d bytes", c.has(a), c.has(b), c.has(d), c.size)
	}
	files, err := os.ReadDir(c.dir)
	if err != nil || len(files) != 2 {
		t.Errorf("%d files, %v", len(files), err)
	}
}
