// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"slices"

	"xenvmm/xenshim/abi"
)

// node is one immutable version of a path's contents. Transactions rely on the
// pointer being a new one after every change.
type node struct {
	value    []byte
	perms    []Perm   // never empty
	children []string // leaf names in order of creation
	gen      uint64   // the store's generation when this version was made
}

func (n *node) owner() abi.DomID { return n.perms[0].Dom }

func (n *node) withValue(v []byte) *node {
	m := *n
	m.value = v
	return &m
}

func (n *node) withPerms(p []Perm) *node {
	m := *n
	m.perms = p
	return &m
}

func (n *node) withChild(name string) *node {
	m := *n
	m.children = make([]string, len(n.children), len(n.children)+1)
	copy(m.children, n.children)
	m.children = append(m.children, name)
	return &m
}

func (n *node) withoutChild(name string) *node {
	m := *n
	if i := slices.Index(n.children, name); i >= 0 {
		m.children = slices.Delete(slices.Clone(n.children), i, i+1)
	}
	return &m
}

// weight is the bytes a version keeps by itself.
func (n *node) weight() int {
	if n == nil {
		return 0
	}
	w := len(n.value)
	for _, c := range n.children {
		w += len(c) + 1
	}
	return w
}

// listing is the children as the wire carries them: each name with a NUL.
func (n *node) listing() []byte {
	b := make([]byte, 0, n.weight()-len(n.value))
	for _, c := range n.children {
		b = append(append(b, c...), 0)
	}
	return b
}
