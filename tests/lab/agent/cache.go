// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"container/list"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"xenvmm/tests/lab/wire"
)

// cache keeps the content of files that programs were sent, so that libraries
// and programs that come again aren't transferred again. The least recently
// used go first. It is used by one goroutine.
type cache struct {
	dir   string
	limit int64
	size  int64
	byKey map[string]*list.Element
	lru   *list.List // of *cached, newest first
	part  *partial
}

type cached struct {
	key  string
	size int64
}

// partial is the file being transferred.
type partial struct {
	file wire.File
	f    *os.File
	done int64
}

var errChunk = errors.New("chunk out of order")

func newCache(dir string, limit int64) *cache {
	return &cache{dir: dir, limit: limit, byKey: map[string]*list.Element{}, lru: list.New()}
}

// key includes the mode because files are shared by hard links.
func key(f wire.File) string { return f.SHA256 + "-" + strconv.FormatUint(uint64(f.Mode&0o777), 8) }

func (c *cache) has(f wire.File) bool {
	e, ok := c.byKey[key(f)]
	if ok {
		c.lru.MoveToFront(e)
	}
	return ok
}

// add appends a chunk; the last one makes the file available.
func (c *cache) add(ch *wire.Chunk, data []byte) error {
	name := filepath.Join(c.dir, "part")
	if ch.Off == 0 {
		c.drop()
		if err := os.MkdirAll(c.dir, 0o700); err != nil {
			return err
		}
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		c.part = &partial{file: ch.File, f: f}
	}
	p := c.part
	if p == nil || p.file != ch.File || p.done != ch.Off || p.done+int64(len(data)) > p.file.Size {
		return fmt.Errorf("%w: %s at %d", errChunk, ch.File.Path, ch.Off)
	}
	if _, err := p.f.Write(data); err != nil {
		c.drop()
		return fmt.Errorf("store %s: %w", ch.File.Path, err)
	}
	p.done += int64(len(data))
	if p.done < p.file.Size {
		return nil
	}
	defer c.drop()
	if err := p.f.Chmod(os.FileMode(p.file.Mode & 0o777)); err != nil {
		return err
	}
	k := key(p.file)
	if err := os.Rename(name, filepath.Join(c.dir, k)); err != nil {
		return err
	}
	if _, ok := c.byKey[k]; !ok {
		c.byKey[k] = c.lru.PushFront(&cached{k, p.file.Size})
		c.size += p.file.Size
	}
	return nil
}

func (c *cache) drop() {
	if c.part != nil {
		_ = c.part.f.Close()
		c.part = nil
	}
}

// place puts a file into a root. Programs and libraries, which nobody
// changes, are linked; anything else is copied.
func (c *cache) place(f wire.File, root *os.Root, hostRoot, rel string) error {
	from := filepath.Join(c.dir, key(f))
	_ = root.Remove(rel)
	if f.Mode&0o111 != 0 {
		return os.Link(from, filepath.Join(hostRoot, rel))
	}
	// A fork while a descriptor is open for writing would make the file busy.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := root.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, os.FileMode(f.Mode&0o777))
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// trim forgets the oldest files above the limit.
func (c *cache) trim() {
	for c.size > c.limit && c.lru.Len() > 0 {
		e := c.lru.Back()
		v := c.lru.Remove(e).(*cached)
		delete(c.byKey, v.key)
		c.size -= v.size
		_ = os.Remove(filepath.Join(c.dir, v.key))
	}
}
