// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"fmt"

	"xenvmm/vmm/boot/unpack"
)

// MaxUnpacked is the largest image that is unpacked, in bytes. A distribution
// vmlinux takes 30 to 90 MB.
const MaxUnpacked = unpack.Max

// Container is what a kernel was wrapped in.
type Container string

// The containers that are unpacked.
const (
	Plain   Container = ""
	Gzip    Container = "gzip"
	BzImage Container = "bzImage"
)

// unwrapped is a kernel file taken out of its containers.
type unwrapped struct {
	File
	Container   Container
	Compression string // of the payload: "gzip", "xz", ..., "" if there was none
}

// unwrap takes a kernel out of a gzip file or a Linux bzImage; any other file
// comes back as it is. It does not check that the result is an ELF file.
func unwrap(f File, limit int64) (unwrapped, error) {
	head, err := f.head(unpack.BzImageHeader)
	if err != nil {
		return unwrapped{}, err
	}
	switch {
	case unpack.IsBzImage(head):
		payload, err := unpack.FindPayload(head, f.Size)
		if err != nil {
			return unwrapped{}, err
		}
		out, method, err := payload.Unpack(f.Data, limit)
		u := unwrapped{Container: BzImage, Compression: string(method)}
		if err != nil {
			return u, err
		}
		u.File = Bytes(f.Name, out)
		return u, nil
	case unpack.Detect(head) == unpack.Gzip:
		u := unwrapped{Container: Gzip, Compression: string(unpack.Gzip)}
		out, err := unpack.Stream(unpack.Gzip, f.section(0, f.Size), limit)
		if err != nil {
			return u, fmt.Errorf("gzip file: %w", err)
		}
		u.File = Bytes(f.Name, out)
		return u, nil
	}
	return unwrapped{File: f}, nil
}
