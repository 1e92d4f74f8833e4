// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"fmt"
	"slices"

	"xenvmm/xenshim/abi"
)

// Tx is the tree inside Update, with the rights of domain 0. Paths are
// absolute. It must not be used after the function that got it returns.
type Tx struct {
	s *Store
	v view
}

// Update runs f on the tree as one transaction: others see all of its changes
// or, if it returns an error, none. f must not call methods of the Store.
func (s *Store) Update(f func(*Tx) error) error {
	var err error
	s.locked(func() {
		t := newTransaction(s, abi.DomIDBackend, nil)
		if err = f(&Tx{s, t}); err == nil {
			if e := t.commit(); e != abi.OK {
				err = fmt.Errorf("xenstore: commit: %w", e)
			}
		}
	})
	return err
}

// direct runs f on the tree itself.
func (s *Store) direct(f func(*Tx)) {
	s.locked(func() { f(&Tx{s, treeView{s}}) })
}

func (t *Tx) do(op, path string, f func(ops) abi.Errno) error {
	if !validPath(path) {
		return opError(op, path, abi.EINVAL)
	}
	return opError(op, path, f(ops{v: t.v, who: cred{dom: abi.DomIDBackend, privileged: true}, q: &t.s.quotas}))
}

// Write stores value at path, making missing directories. Values are at most
// 4096 bytes, what a reply can carry.
func (t *Tx) Write(path, value string) error {
	return t.do("write", path, func(o ops) abi.Errno {
		if len(value) > abi.XenstorePayloadMax {
			return abi.E2BIG
		}
		return o.write(path, []byte(value))
	})
}

// Read returns the value at path; the error wraps abi.ENOENT if there is none.
func (t *Tx) Read(path string) (value string, err error) {
	err = t.do("read", path, func(o ops) abi.Errno {
		n, e := o.read(path)
		if e == abi.OK {
			value = string(n.value)
		}
		return e
	})
	return value, err
}

// Mkdir makes path, and what is missing above it, with empty values.
func (t *Tx) Mkdir(path string) error {
	return t.do("mkdir", path, func(o ops) abi.Errno { return o.mkdir(path) })
}

// Rm removes path and everything below it. It is no error if only path itself
// doesn't exist.
func (t *Tx) Rm(path string) error {
	return t.do("rm", path, func(o ops) abi.Errno { return o.rm(path) })
}

// Directory returns the names below path in order of creation.
func (t *Tx) Directory(path string) (names []string, err error) {
	err = t.do("directory", path, func(o ops) abi.Errno {
		n, e := o.read(path)
		if e == abi.OK {
			names = slices.Clone(n.children)
		}
		return e
	})
	return names, err
}

// GetPerms returns the permissions of path.
func (t *Tx) GetPerms(path string) (perms []Perm, err error) {
	err = t.do("get permissions", path, func(o ops) abi.Errno {
		n, e := o.read(path)
		if e == abi.OK {
			perms = slices.Clone(n.perms)
		}
		return e
	})
	return perms, err
}

// SetPerms replaces the permissions of path. The first entry names the owner.
func (t *Tx) SetPerms(path string, perms ...Perm) error {
	return t.do("set permissions", path, func(o ops) abi.Errno { return o.setPerms(path, slices.Clone(perms)) })
}

// Write is Tx.Write as a transaction of its own; likewise the following.
func (s *Store) Write(path, value string) (err error) {
	s.direct(func(t *Tx) { err = t.Write(path, value) })
	return err
}

// Read returns the value at path.
func (s *Store) Read(path string) (v string, err error) {
	s.direct(func(t *Tx) { v, err = t.Read(path) })
	return v, err
}

// Mkdir makes path.
func (s *Store) Mkdir(path string) (err error) {
	s.direct(func(t *Tx) { err = t.Mkdir(path) })
	return err
}

// Rm removes path and everything below it.
func (s *Store) Rm(path string) (err error) {
	s.direct(func(t *Tx) { err = t.Rm(path) })
	return err
}

// Directory returns the names below path.
func (s *Store) Directory(path string) (names []string, err error) {
	s.direct(func(t *Tx) { names, err = t.Directory(path) })
	return names, err
}

// GetPerms returns the permissions of path.
func (s *Store) GetPerms(path string) (perms []Perm, err error) {
	s.direct(func(t *Tx) { perms, err = t.GetPerms(path) })
	return perms, err
}

// SetPerms replaces the permissions of path.
func (s *Store) SetPerms(path string, perms ...Perm) (err error) {
	s.direct(func(t *Tx) { err = t.SetPerms(path, perms...) })
	return err
}
