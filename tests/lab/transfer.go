// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"xenvmm/tests/lab/wire"
)

// send makes the root id out of m's files. Content the host has from an
// earlier program isn't sent again.
func (h *Host) send(ctx context.Context, id uint32, m *manifest) error {
	h.transfer.Lock()
	defer h.transfer.Unlock()
	if h.window == nil {
		return h.failure("send files", nil)
	}
	p := &wire.Prepare{Root: id, Files: m.files, Dirs: m.dirs}
	// What is missing after having been sent has been changed on the way, or
	// doesn't fit.
	for range 2 {
		r, err := h.call(ctx, wire.Call{Prepare: p})
		if err != nil {
			return err
		}
		if r.Err != "" {
			return fmt.Errorf("lab: prepare the program's files: %s", r.Err)
		}
		if len(r.Missing) == 0 {
			return nil
		}
		sent := map[string]bool{}
		for _, i := range r.Missing {
			if i < 0 || i >= len(m.files) {
				return h.failure("send files", errors.New("the init asks for an unknown file"))
			}
			k := fmt.Sprint(m.files[i].SHA256, m.files[i].Mode)
			if sent[k] {
				continue
			}
			sent[k] = true
			if err := h.upload(ctx, m.files[i], m.sources[i]); err != nil {
				return err
			}
		}
	}
	return errors.New("lab: the program's files changed while they were sent")
}

// upload sends one file through the window.
func (h *Host) upload(ctx context.Context, f wire.File, s source) error {
	in, err := s.open()
	if err != nil {
		return fmt.Errorf("lab: file for the host: %w", err)
	}
	defer in.Close()
	for off := int64(0); ; {
		n := min(f.Size-off, int64(len(h.window)))
		if _, err := io.ReadFull(in, h.window[:n]); err != nil {
			return fmt.Errorf("lab: file for the host: %s: %w", s.path, err)
		}
		r, err := h.call(ctx, wire.Call{Chunk: &wire.Chunk{File: f, Off: off, Len: n}})
		if err != nil {
			return err
		}
		if r.Err != "" {
			return fmt.Errorf("lab: file for the host: %s: %s", f.Path, r.Err)
		}
		if off += n; off >= f.Size {
			return nil
		}
	}
}

// ask is a call that the end of the program's context doesn't cut short: what a
// program that was stopped has written is wanted all the more.
func (h *Host) ask(c wire.Call) (wire.Reply, error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), 2*answerLimit, errNoAnswer)
	defer cancel()
	r, err := h.call(ctx, c)
	if errors.Is(err, errNoAnswer) {
		err = h.failure("bring out files", errNoAnswer)
	}
	return r, err
}

var errNoAnswer = fmt.Errorf("no answer within %v", 2*answerLimit)

// collect brings a file or a tree out.
func (h *Host) collect(id uint32, o Output) error {
	r, err := h.ask(wire.Call{List: &wire.List{Root: id, Path: o.From}})
	if err != nil {
		return err
	}
	if r.Err != "" && r.Errno == enoent {
		return nil
	}
	if r.Err != "" {
		return fmt.Errorf("lab: bring out %s: %s", o.From, r.Err)
	}
	if len(r.Entries) == 1 && !r.Entries[0].Dir {
		if err := os.MkdirAll(filepath.Dir(o.To), 0o755); err != nil {
			return err
		}
		root, err := os.OpenRoot(filepath.Dir(o.To))
		if err != nil {
			return err
		}
		defer root.Close()
		return h.download(id, o.From, root, filepath.Base(o.To), r.Entries[0])
	}
	if err := os.MkdirAll(o.To, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(o.To)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, e := range r.Entries {
		if e.Dir {
			err = root.MkdirAll(e.Path, 0o755)
		} else {
			err = h.download(id, path.Join(o.From, e.Path), root, e.Path, e)
		}
		if err != nil {
			return fmt.Errorf("lab: bring out %s: %w", path.Join(o.From, e.Path), err)
		}
	}
	return nil
}

// download fetches one file into root. The file has the size it had when it
// was listed, or less.
func (h *Host) download(id uint32, from string, root *os.Root, name string, e wire.Entry) error {
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, os.FileMode(e.Mode&0o777))
	if err != nil {
		return err
	}
	h.transfer.Lock()
	defer h.transfer.Unlock()
	for off := int64(0); off < e.Size; {
		n := min(e.Size-off, int64(len(h.window)))
		if n == 0 {
			return errors.Join(h.failure("bring out "+from, nil), out.Close())
		}
		r, err := h.ask(wire.Call{Fetch: &wire.Fetch{Root: id, Path: from, Off: off, Len: n}})
		if err == nil && r.Err != "" {
			err = errors.New(r.Err)
		}
		if err == nil && (r.N < 0 || r.N > n) {
			err = h.failure("bring out "+from, fmt.Errorf("%d bytes of %d", r.N, n))
		}
		if err == nil && r.N > 0 {
			_, err = out.Write(h.window[:r.N])
		}
		if err != nil {
			return errors.Join(err, out.Close())
		}
		if r.N == 0 {
			break
		}
		off += r.N
	}
	return out.Close()
}

// enoent is ENOENT as the init reports it.
const enoent = 2
