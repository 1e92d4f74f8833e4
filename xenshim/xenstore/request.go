// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"bytes"
	"strconv"

	"xenvmm/xenshim/abi"
)

// handle carries out one request and queues exactly one reply (and the events
// it causes). payload is private to the caller and not kept. Callers hold
// Store.mu.
func (c *conn) handle(h header, payload []byte) {
	out, e := c.serve(h, payload)
	if e != abi.OK {
		c.fail(h, e)
		return
	}
	if out == nil {
		out = []byte("OK\x00")
	}
	c.reply(h, out)
	if h.typ == abi.XSWatch {
		// The first event follows the reply, so that the client knows the token.
		w := c.watches[len(c.watches)-1]
		c.post(w, w.path)
	}
}

// serve returns the payload of the reply; nil means the usual acknowledgement.
func (c *conn) serve(h header, p []byte) ([]byte, abi.Errno) {
	switch h.typ {
	// Requests that don't look at the transaction id.
	case abi.XSWatch:
		return nil, c.doWatch(p)
	case abi.XSUnwatch:
		s := cstrings(p, 2)
		if len(s) < 2 {
			return nil, abi.EINVAL
		}
		return nil, c.unwatch(s[0], s[1])
	case abi.XSResetWatches:
		c.reset()
		return nil, abi.OK
	case abi.XSControl, abi.XSIntroduce, abi.XSRelease, abi.XSResume, abi.XSSetTarget:
		return nil, abi.EACCES // for domain 0, which uses the methods of Store
	case abi.XSDirectory, abi.XSRead, abi.XSGetPerms, abi.XSTransactionStart, abi.XSTransactionEnd,
		abi.XSGetDomainPath, abi.XSWrite, abi.XSMkdir, abi.XSRm, abi.XSSetPerms,
		abi.XSIsDomainIntroduced, abi.XSDirectoryPart:
	default:
		return nil, abi.ENOSYS
	}

	var t *transaction
	if h.txID != 0 {
		if t = c.open[h.txID]; t == nil {
			return nil, abi.ENOENT
		}
		if t.err != abi.OK && h.typ != abi.XSTransactionEnd {
			return nil, t.err
		}
	}
	switch h.typ {
	case abi.XSTransactionStart:
		if t != nil {
			return nil, abi.EBUSY // transactions don't nest
		}
		id, e := c.begin()
		if e != abi.OK {
			return nil, e
		}
		return formatID(id), abi.OK
	case abi.XSTransactionEnd:
		return nil, c.end(t, h.txID, p)
	case abi.XSGetDomainPath:
		return c.domainPath(p)
	case abi.XSIsDomainIntroduced:
		return c.isIntroduced(p)
	}

	o := ops{v: treeView{c.store}, who: c.who, q: &c.store.quotas}
	if t != nil {
		o.v = t
	}
	out, e := c.nodeOp(o, h.typ, p)
	if e == abi.OK {
		e = o.v.broken()
	}
	return out, e
}

// nodeOp serves the requests that act on one node.
func (c *conn) nodeOp(o ops, typ uint32, p []byte) ([]byte, abi.Errno) {
	var first string
	var rest []byte // what follows the path and its NUL
	switch typ {
	case abi.XSWrite, abi.XSSetPerms, abi.XSDirectoryPart:
		i := bytes.IndexByte(p, 0)
		if i < 0 {
			return nil, abi.EINVAL
		}
		first, rest = string(p[:i]), p[i+1:]
	default:
		s, ok := oneString(p)
		if !ok {
			return nil, abi.EINVAL
		}
		first = s
	}
	if (typ == abi.XSGetPerms || typ == abi.XSSetPerms) && !c.who.privileged && validSpecial(first) {
		return nil, abi.EACCES // special events belong to domain 0
	}
	path, _, ok := absolute(c.home, first)
	if !ok {
		return nil, abi.EINVAL
	}
	switch typ {
	case abi.XSRead:
		n, e := o.read(path)
		if e != abi.OK {
			return nil, e
		}
		return append([]byte{}, n.value...), abi.OK
	case abi.XSDirectory:
		n, e := o.read(path)
		if e != abi.OK {
			return nil, e
		}
		return n.listing(), abi.OK
	case abi.XSDirectoryPart:
		return directoryPart(o, path, rest)
	case abi.XSGetPerms:
		n, e := o.read(path)
		if e != abi.OK {
			return nil, e
		}
		var b []byte
		for _, perm := range n.perms {
			b = append(append(b, perm.String()...), 0)
		}
		return b, abi.OK
	case abi.XSSetPerms:
		perms, e := parsePerms(rest)
		if e != abi.OK {
			return nil, e
		}
		return nil, o.setPerms(path, perms)
	case abi.XSWrite:
		return nil, o.write(path, append([]byte{}, rest...))
	case abi.XSMkdir:
		return nil, o.mkdir(path)
	}
	return nil, o.rm(path)
}

func parsePerms(p []byte) ([]Perm, abi.Errno) {
	var perms []Perm
	for _, s := range cstrings(p, abi.XenstorePayloadMax) {
		perm, ok := parsePerm(s)
		if !ok {
			return nil, abi.EINVAL
		}
		perms = append(perms, perm)
	}
	if len(perms) == 0 {
		return nil, abi.EINVAL
	}
	return perms, abi.OK
}

// directoryPart answers with the node's generation and as many whole names,
// from the byte offset on, as fit; an empty name ends the list.
func directoryPart(o ops, path string, rest []byte) ([]byte, abi.Errno) {
	s := cstrings(rest, 1)
	if len(s) < 1 {
		return nil, abi.EINVAL
	}
	off, err := strconv.ParseUint(s[0], 10, 32)
	if err != nil {
		return nil, abi.EINVAL
	}
	n, e := o.read(path)
	if e != abi.OK {
		return nil, e
	}
	out := cstring(strconv.FormatUint(n.gen, 10))
	list := n.listing()
	if off >= uint64(len(list)) {
		return append(out, 0), abi.OK
	}
	list = list[off:]
	room := abi.XenstorePayloadMax - len(out) - 1 // one byte for the end mark
	if len(list) <= room {
		return append(append(out, list...), 0), abi.OK
	}
	// A name is at most a path long, so at least one whole name fits.
	return append(out, list[:bytes.LastIndexByte(list[:room], 0)+1]...), abi.OK
}

func (c *conn) doWatch(p []byte) abi.Errno {
	s := cstrings(p, 3)
	if len(s) < 2 {
		return abi.EINVAL
	}
	depth := anyDepth
	if len(s) == 3 && s[2] != "" {
		d, err := strconv.ParseUint(s[2], 10, 31)
		if err != nil {
			return abi.EINVAL
		}
		depth = int(d)
	}
	_, e := c.watch(s[0], s[1], depth)
	return e
}

func (c *conn) end(t *transaction, id uint32, p []byte) abi.Errno {
	s, ok := oneString(p)
	if !ok || (s != "T" && s != "F") {
		return abi.EINVAL
	}
	if t == nil {
		return abi.ENOENT
	}
	delete(c.open, id)
	delete(c.store.open, t)
	if s == "F" {
		return abi.OK
	}
	return t.commit()
}

func (c *conn) domainPath(p []byte) ([]byte, abi.Errno) {
	s, ok := oneString(p)
	if !ok {
		return nil, abi.EINVAL
	}
	id, ok := parseDomID(s)
	if !ok {
		return nil, abi.EINVAL
	}
	return cstring(DomainPath(id)), abi.OK
}

func (c *conn) isIntroduced(p []byte) ([]byte, abi.Errno) {
	s, ok := oneString(p)
	if !ok {
		return nil, abi.EINVAL
	}
	id, ok := parseDomID(s)
	if !ok {
		return nil, abi.EINVAL
	}
	if id == abi.DomIDSelf || c.store.introduced[id] {
		return []byte("T\x00"), abi.OK
	}
	return []byte("F\x00"), abi.OK
}
