// SPDX-License-Identifier: Apache-2.0

package xenstore

import "xenvmm/xenshim/abi"

// HostWatch is a watch of the VMM itself, with the rights of domain 0.
type HostWatch struct {
	s *Store
	c *conn
	w *watch
}

// Watch calls notify when path or something below it has changed, and once at
// the start. path may be a special event such as "@releaseDomain". notify runs
// on the goroutine that made the change, must not block, and may come several
// times for one change or once for several; Changed tells which paths.
func (s *Store) Watch(path string, notify func()) (*HostWatch, error) {
	c := s.connect(cred{dom: abi.DomIDBackend, privileged: true}, notify)
	h := &HostWatch{s: s, c: c}
	var e abi.Errno
	s.locked(func() {
		if h.w, e = c.watch(path, "", anyDepth); e == abi.OK {
			c.post(h.w, h.w.path)
		}
	})
	if e != abi.OK {
		s.disconnect(c)
		return nil, opError("watch", path, e)
	}
	return h, nil
}

// Changed returns the paths that changed since the last call, each once. If
// very many did, the watched path itself stands for the rest.
func (h *HostWatch) Changed() []string {
	var paths []string
	h.s.locked(func() {
		for {
			it, ok := h.c.queue.next()
			if !ok {
				return
			}
			paths = append(paths, it.event.path)
		}
	})
	return paths
}

// Close ends the watch. A notify call that is under way may still finish.
func (h *HostWatch) Close() { h.s.disconnect(h.c) }
