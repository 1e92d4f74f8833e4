// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"strconv"
	"strings"

	"xenvmm/xenshim/abi"
)

// DomainPath is the directory that relative paths of domain id start from.
func DomainPath(id abi.DomID) string { return "/local/domain/" + strconv.Itoa(int(id)) }

// absolute turns a path of a request into the absolute path of a node, or
// reports false if it breaks the syntax: at most 3072 bytes (2048 as written
// if relative) of alphanumerics and "-/_@", no empty component, no slash at
// the end but for the root.
func absolute(home, path string) (abs string, relative, ok bool) {
	abs = path
	if !strings.HasPrefix(path, "/") {
		if len(path) > abi.XenstoreRelPathMax {
			return "", false, false
		}
		abs, relative = home+"/"+path, true
	}
	return abs, relative, validPath(abs)
}

func validPath(p string) bool {
	if len(p) == 0 || len(p) > abi.XenstoreAbsPathMax || p[0] != '/' {
		return false
	}
	if p == "/" {
		return true
	}
	prev := byte(0)
	for i := 0; i < len(p); i++ {
		c := p[i]
		if !pathChar(c) || (c == '/' && prev == '/') {
			return false
		}
		prev = c
	}
	return prev != '/'
}

func pathChar(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '-' || c == '/' || c == '_' || c == '@'
}

// validSpecial checks the name of a special watch such as "@releaseDomain".
func validSpecial(p string) bool {
	if len(p) < 2 || len(p) > abi.XenstoreRelPathMax || p[0] != '@' {
		return false
	}
	for i := 1; i < len(p); i++ {
		if !pathChar(p[i]) {
			return false
		}
	}
	return true
}

// parent returns the directory of a path other than the root.
func parent(p string) string {
	if i := strings.LastIndexByte(p, '/'); i > 0 {
		return p[:i]
	}
	return "/"
}

// leaf returns the last component.
func leaf(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }

// join appends a component to a directory.
func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

// below reports whether p is dir or lies under it, and how many levels under.
func below(p, dir string) (levels int, ok bool) {
	if p == dir {
		return 0, true
	}
	if dir == "/" {
		return strings.Count(p, "/"), true
	}
	if len(p) > len(dir) && p[len(dir)] == '/' && p[:len(dir)] == dir {
		return strings.Count(p[len(dir):], "/"), true
	}
	return 0, false
}
