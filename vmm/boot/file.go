// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"bytes"
	"fmt"
	"io"
)

// File is one input: a kernel or an initrd. Data is read with ReadAt only, up
// to Size bytes, and must not change while an Image made from it is in use.
type File struct {
	Name    string // as the user gave it; used in error messages
	Data    io.ReaderAt
	Size    int64
	Cmdline string // for initrds: the module's own command line, usually empty
}

// Bytes makes a File of data in memory.
func Bytes(name string, data []byte) File {
	return File{Name: name, Data: bytes.NewReader(data), Size: int64(len(data))}
}

// readAt fills p from offset off of the file. A file that turns out shorter
// than it said is an error.
func (f File) readAt(p []byte, off int64) error {
	if off < 0 || off > f.Size || int64(len(p)) > f.Size-off {
		return fmt.Errorf("%d bytes at offset %#x lie outside the file (%d bytes): %w", len(p), off, f.Size, ErrFormat)
	}
	n, err := f.Data.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %d bytes at offset %#x: %w", len(p), off, err)
}

// head returns up to n bytes from the start of the file.
func (f File) head(n int64) ([]byte, error) {
	p := make([]byte, min(n, max(f.Size, 0)))
	return p, f.readAt(p, 0)
}

// section is the part [off, off+n) of the file; the caller has checked that it
// lies inside.
func (f File) section(off, n int64) io.Reader {
	return io.NewSectionReader(f.Data, off, n)
}
