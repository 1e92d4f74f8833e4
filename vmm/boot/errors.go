// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"errors"

	"xenvmm/vmm/boot/unpack"
)

// The reasons for which an image cannot be loaded, for errors.Is; the errors
// that wrap them name the file and the details. Those that unpacking shares are
// the same values there.
var (
	// ErrFormat: the kernel file is damaged or contradicts itself.
	ErrFormat = unpack.ErrFormat
	// ErrUnsupported: the file is whole, but of a kind that cannot be booted.
	ErrUnsupported = unpack.ErrUnsupported
	// ErrNoRoom: something does not fit into the guest's memory.
	ErrNoRoom = errors.New("no room in guest memory")
	// ErrLimit: a parameter is out of its range.
	ErrLimit = unpack.ErrLimit
	// ErrUntrappable: the kernel's hypercalls cannot be made to leave the guest.
	ErrUntrappable = errors.New("its hypercalls cannot be trapped")
)

// isFileFault tells faults of the file's content from failures to read it.
func isFileFault(err error) bool {
	return errors.Is(err, ErrFormat) || errors.Is(err, ErrUnsupported) || errors.Is(err, ErrLimit)
}
