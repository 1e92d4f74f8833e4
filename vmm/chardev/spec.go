// SPDX-License-Identifier: Apache-2.0

package chardev

import (
	"fmt"
	"strings"
)

// Kind is what a device is connected to.
type Kind string

// Kinds of device.
const (
	Off   Kind = "off"
	Stdio Kind = "stdio"
	Pty   Kind = "pty"
	File  Kind = "file"
)

// Syntax is the form of a description, for help texts and errors.
const Syntax = "off|stdio|pty|file=PATH[,append]"

// Spec describes a device.
type Spec struct {
	Kind   Kind
	Path   string // File
	Append bool   // File
}

// Parse reads a description. The zero Spec means off.
func Parse(s string) (Spec, error) {
	head, rest, hasRest := strings.Cut(s, ",")
	name, path, hasPath := strings.Cut(head, "=")
	bad := func(why string) (Spec, error) {
		return Spec{}, fmt.Errorf("device %q: %s; want %s", s, why, Syntax)
	}
	switch k := Kind(name); k {
	case Off, Stdio, Pty:
		if hasPath || hasRest {
			return bad(fmt.Sprintf("%s takes no value", k))
		}
		return Spec{Kind: k}, nil
	case File:
		if path == "" {
			return bad("the path is missing")
		}
		if strings.ContainsRune(path, 0) {
			return bad("the path has a NUL byte")
		}
		if hasRest && rest != "append" {
			return bad(fmt.Sprintf("%q is no option of file", rest))
		}
		return Spec{Kind: File, Path: path, Append: hasRest}, nil
	case "":
		return bad("it is empty")
	}
	return bad(fmt.Sprintf("%q is no kind of device", name))
}

// String is the description Parse reads.
func (s Spec) String() string {
	switch {
	case s.Kind == "":
		return string(Off)
	case s.Kind == File && s.Append:
		return "file=" + s.Path + ",append"
	case s.Kind == File:
		return "file=" + s.Path
	}
	return string(s.Kind)
}

// UnmarshalText lets flags and configuration files hold a Spec.
func (s *Spec) UnmarshalText(b []byte) error {
	v, err := Parse(string(b))
	if err == nil {
		*s = v
	}
	return err
}

// MarshalText is the reverse of UnmarshalText.
func (s Spec) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
