// SPDX-License-Identifier: Apache-2.0

package xenstore

import "xenvmm/xenshim/abi"

// transaction is a view with an overlay on the tree as it was when the
// transaction began: whoever changes the tree leaves the old version with the
// open transactions. Every path touched is remembered; the transaction may be
// committed if the tree still has the versions it saw, which makes all its
// answers those of one moment, the moment of the commit.
type transaction struct {
	s    *Store
	dom  abi.DomID        // whose nodes are counted
	q    *Quotas          // nil: no limit
	past map[string]*node // versions at the start of what others changed since
	seen map[string]*node // version seen at first touch, nil for absent
	over map[string]*node // changed paths, nil for removed
	base int              // nodes that dom owned at the start
	own  int              // change of that number
	size int              // bytes kept
	err  abi.Errno        // set once a limit was hit; then nothing is recorded

	changes []change // in order of first change; one per path and kind
	index   map[changeKey]int
}

type changeKey struct {
	path  string
	exact bool
}

// entryCost stands for the bookkeeping of one remembered path.
const entryCost = 64

func newTransaction(s *Store, dom abi.DomID, q *Quotas) *transaction {
	return &transaction{
		s: s, dom: dom, q: q, base: s.owners[dom],
		past: map[string]*node{}, seen: map[string]*node{}, over: map[string]*node{}, index: map[changeKey]int{},
	}
}

func (t *transaction) get(path string) *node {
	if n, ok := t.over[path]; ok {
		return n
	}
	if n, ok := t.seen[path]; ok {
		return n
	}
	n, ok := t.past[path]
	if !ok {
		n = t.s.nodes[path]
	}
	if t.charge(len(path)+entryCost) && (t.q == nil || len(t.seen) < t.q.TransactionNodes) {
		t.seen[path] = n
	} else {
		t.err = abi.ENOSPC
	}
	return n
}

// preserve keeps the version of a path that is about to be changed in the
// tree. Beyond the limits the transaction is given up: its user will start
// again.
func (t *transaction) preserve(path string, old *node) {
	if _, ok := t.past[path]; ok || t.err != abi.OK {
		return
	}
	if len(t.past) >= t.q.TransactionNodes || !t.charge(len(path)+entryCost+old.weight()) {
		t.err = abi.EAGAIN
		t.past = nil
		return
	}
	t.past[path] = old
}

// charge accounts n bytes and reports whether they fit.
func (t *transaction) charge(n int) bool {
	if t.err != abi.OK {
		return false
	}
	t.size += n
	return t.q == nil || t.size <= t.q.TransactionBytes
}

func (t *transaction) put(path string, n *node) {
	t.s.gen++
	n.gen = t.s.gen
	t.set(path, n)
}

func (t *transaction) del(path string) { t.set(path, nil) }

func (t *transaction) set(path string, n *node) {
	old := t.get(path) // what is changed counts as touched
	cost := len(path) + entryCost + n.weight()
	if prev, ok := t.over[path]; ok {
		cost -= len(path) + entryCost + prev.weight() // replaced, so no longer kept
	}
	if !t.charge(cost) {
		t.err = abi.ENOSPC
		return
	}
	if old != nil && old.owner() == t.dom {
		t.own--
	}
	if n != nil && n.owner() == t.dom {
		t.own++
	}
	t.over[path] = n
}

func (t *transaction) owned(dom abi.DomID) int {
	if dom != t.dom {
		return t.s.owners[dom]
	}
	return t.base + t.own
}

func (t *transaction) changed(c change) {
	if t.err != abi.OK {
		return
	}
	k := changeKey{c.path, c.exact}
	if i, ok := t.index[k]; ok {
		t.changes[i].after = c.after
		if t.changes[i].above == nil {
			t.changes[i].above = c.above
		}
		return
	}
	t.index[k] = len(t.changes)
	t.changes = append(t.changes, c)
}

func (t *transaction) broken() abi.Errno { return t.err }

// commit publishes the overlay, or changes nothing and returns EAGAIN if
// something the transaction touched has changed meanwhile.
func (t *transaction) commit() abi.Errno {
	if t.err != abi.OK {
		return t.err
	}
	for path, n := range t.seen {
		if t.s.nodes[path] != n {
			return abi.EAGAIN
		}
	}
	// Others may have used up the quota since: the sum decides.
	if t.q != nil && t.own > 0 && t.s.owners[t.dom]+t.own > t.q.Nodes {
		return abi.ENOSPC
	}
	tree := treeView{t.s}
	for path, n := range t.over {
		tree.set(path, n)
	}
	for _, c := range t.changes {
		t.s.fire(c)
	}
	return abi.OK
}
