// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"strconv"

	"xenvmm/xenshim/abi"
)

// Access is what a domain may do with a node.
type Access uint8

// The accesses; owning a node includes both others.
const (
	None  Access = 0
	Read  Access = 1 << 0
	Write Access = 1 << 1

	owner Access = 1 << 2
)

// Perm is one entry of a node's permissions. The first entry of a list is
// special: its Dom owns the node and its Access is what every domain has that
// no later entry names (docs/misc/xenstore.txt, "perm-as-string").
type Perm struct {
	Dom    abi.DomID
	Access Access
}

// String returns the form used on the wire: one of n, r, w, b and the domain.
func (p Perm) String() string {
	return string("nrwb"[p.Access&(Read|Write)]) + strconv.Itoa(int(p.Dom))
}

func parsePerm(s string) (Perm, bool) {
	if len(s) < 2 {
		return Perm{}, false
	}
	var a Access
	switch s[0] {
	case 'n':
	case 'r':
		a = Read
	case 'w':
		a = Write
	case 'b':
		a = Read | Write
	default:
		return Perm{}, false
	}
	d, ok := parseDomID(s[1:])
	return Perm{Dom: d, Access: a}, ok
}

// cred is on whose behalf an operation runs.
type cred struct {
	dom        abi.DomID
	privileged bool // domain 0: all rights, no quotas
}

// access returns what c may do with n. A nil node grants nothing.
func (c cred) access(n *node) Access {
	switch {
	case n == nil:
		return None
	case c.privileged || n.perms[0].Dom == c.dom:
		return Read | Write | owner
	}
	for _, p := range n.perms[1:] {
		if p.Dom == c.dom {
			return p.Access
		}
	}
	return n.perms[0].Access
}

func (c cred) may(n *node, a Access) bool { return c.access(n)&a == a }
