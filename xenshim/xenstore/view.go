// SPDX-License-Identifier: Apache-2.0

package xenstore

import "xenvmm/xenshim/abi"

// view is the tree as an operation sees it: the Store itself, or the overlay
// of a transaction. Callers hold Store.mu.
type view interface {
	// get returns the current node at path, nil if there is none.
	get(path string) *node
	// put publishes n at path; del takes the path away. Neither looks at
	// parents or children.
	put(path string, n *node)
	del(path string)
	// owned is the number of nodes that dom owns in this view.
	owned(dom abi.DomID) int
	// changed reports a modification for the watches.
	changed(c change)
	// broken is an error that makes the rest of the operation pointless, such
	// as a transaction that has touched too many nodes.
	broken() abi.Errno
}

// change is one modification as the watches see it. before and after are the
// versions around it (nil: absent), above is the parent; who may read one of
// them may know of the change.
type change struct {
	path          string
	exact         bool // fires only watches of exactly this path
	before, after *node
	above         *node
}

// treeView is the Store's own tree.
type treeView struct{ *Store }

func (t treeView) get(path string) *node { return t.nodes[path] }

func (t treeView) put(path string, n *node) {
	t.gen++
	n.gen = t.gen
	t.set(path, n)
}

func (t treeView) del(path string) { t.set(path, nil) }

// set replaces the node at path and keeps the count of owners.
func (t treeView) set(path string, n *node) {
	old := t.nodes[path]
	for tx := range t.open {
		tx.preserve(path, old)
	}
	if old != nil {
		if t.owners[old.owner()]--; t.owners[old.owner()] == 0 {
			delete(t.owners, old.owner())
		}
	}
	if n == nil {
		delete(t.nodes, path)
		return
	}
	t.owners[n.owner()]++
	t.nodes[path] = n
}

func (t treeView) owned(dom abi.DomID) int { return t.owners[dom] }
func (t treeView) changed(c change)        { t.fire(c) }
func (t treeView) broken() abi.Errno       { return abi.OK }
