// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"slices"
	"strings"

	"xenvmm/xenshim/abi"
)

// ops are the operations on nodes, with the rights of who in the view v.
// Paths are absolute and valid.
type ops struct {
	v   view
	who cred
	q   *Quotas
}

// find returns the node at path if who has the access. A domain that lacks it
// on the nearest existing directory is not told whether the path exists.
func (o ops) find(path string, need Access) (*node, abi.Errno) {
	if n := o.v.get(path); n != nil {
		if o.who.may(n, need) {
			return n, abi.OK
		}
		return nil, abi.EACCES
	}
	_, dir := o.nearest(path)
	if !o.who.may(dir, need) {
		return nil, abi.EACCES
	}
	return nil, abi.ENOENT
}

// nearest returns the deepest existing directory above path. It walks down
// from the root, so that a transaction records only what exists and the first
// path that does not.
func (o ops) nearest(path string) (string, *node) {
	at, n := "/", o.v.get("/")
	for i := 1; i < len(path); {
		end := strings.IndexByte(path[i:], '/')
		if end < 0 {
			break
		}
		next := path[:i+end]
		m := o.v.get(next)
		if m == nil {
			break
		}
		at, n = next, m
		i += end + 1
	}
	return at, n
}

func (o ops) read(path string) (*node, abi.Errno) { return o.find(path, Read) }

func (o ops) write(path string, value []byte) abi.Errno {
	if !o.who.privileged && len(value) > o.q.NodeSize {
		return abi.ENOSPC
	}
	n, e := o.find(path, Write)
	switch e {
	case abi.OK:
		m := n.withValue(value)
		o.v.put(path, m)
		o.v.changed(change{path: path, before: n, after: m, above: o.above(path)})
		return abi.OK
	case abi.ENOENT:
		return o.create(path, value)
	}
	return e
}

func (o ops) mkdir(path string) abi.Errno {
	_, e := o.find(path, Write)
	if e == abi.ENOENT {
		return o.create(path, nil)
	}
	return e
}

// create makes path and the directories missing above it. Permissions are
// those of the nearest directory; what an unprivileged domain makes, it owns.
func (o ops) create(path string, value []byte) abi.Errno {
	at, dir := o.nearest(path)
	missing := strings.Split(strings.TrimPrefix(path[len(at):], "/"), "/")
	perms := dir.perms
	if !o.who.privileged {
		if o.v.owned(o.who.dom)+len(missing) > o.q.Nodes {
			return abi.ENOSPC
		}
		perms = slices.Clone(perms)
		perms[0].Dom = o.who.dom
	}
	o.v.put(at, dir.withChild(missing[0]))
	above := dir
	var n *node
	for i, name := range missing {
		n = &node{perms: perms}
		if i+1 < len(missing) {
			n.children = []string{missing[i+1]}
			above = n
		} else {
			n.value = value
		}
		at = join(at, name)
		o.v.put(at, n)
	}
	o.v.changed(change{path: path, after: n, above: above})
	return o.v.broken()
}

// rm removes path and all below it. A path that is not there is no error as
// long as its parent is.
func (o ops) rm(path string) abi.Errno {
	n, e := o.find(path, Write)
	if e == abi.ENOENT && o.v.get(parent(path)) != nil {
		return abi.OK
	}
	if e != abi.OK {
		return e
	}
	if path == "/" {
		return abi.EINVAL
	}
	dir := o.v.get(parent(path))
	o.v.put(parent(path), dir.withoutChild(leaf(path)))
	o.v.del(path)
	o.v.changed(change{path: path, before: n, above: dir})
	o.rmChildren(path, n)
	return o.v.broken()
}

// rmChildren removes everything under a removed node. It keeps its own stack:
// the depth is the guest's choice.
func (o ops) rmChildren(path string, n *node) {
	type item struct {
		path string
		n    *node
	}
	for stack := []item{{path, n}}; len(stack) > 0 && o.v.broken() == abi.OK; {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, name := range top.n.children {
			p := join(top.path, name)
			c := o.v.get(p)
			o.v.del(p)
			o.v.changed(change{path: p, exact: true, before: c, above: top.n})
			stack = append(stack, item{p, c})
		}
	}
}

func (o ops) setPerms(path string, perms []Perm) abi.Errno {
	if len(perms) == 0 {
		return abi.EINVAL
	}
	if !o.who.privileged && len(perms) > o.q.Perms {
		return abi.ENOSPC
	}
	n, e := o.find(path, Write|owner)
	if e != abi.OK {
		return e
	}
	if !o.who.privileged && perms[0].Dom != n.owner() {
		return abi.EPERM // giving nodes away would shift the quota to others
	}
	m := n.withPerms(perms)
	o.v.put(path, m)
	o.v.changed(change{path: path, before: n, after: m, above: o.above(path)})
	return abi.OK
}

func (o ops) above(path string) *node {
	if path == "/" {
		return nil
	}
	return o.v.get(parent(path))
}
