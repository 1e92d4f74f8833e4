// SPDX-License-Identifier: Apache-2.0

package console

// Page is the console page, 4 KiB that the guest changes at any time. Load32
// and Store32 are single, sequentially consistent accesses to aligned words;
// ReadAt and WriteAt may tear. Offsets are bytes. An error means that the page is
// not accessible now and that nothing has happened; a Kick comes when it is
// accessible again.
type Page interface {
	ReadAt(p []byte, off uint32) error
	WriteAt(p []byte, off uint32) error
	Load32(off uint32) (uint32, error)
	Store32(off uint32, v uint32) error
}

// ring is one of the two byte rings: size is a power of two.
type ring struct {
	base uint32 // offset of its bytes in the page
	size uint32
}

// read copies len(p) <= size bytes from stream offset at on.
func (g ring) read(pg Page, p []byte, at uint32) error {
	first := min(uint32(len(p)), g.size-at%g.size)
	if err := pg.ReadAt(p[:first], g.base+at%g.size); err != nil {
		return err
	}
	if int(first) == len(p) {
		return nil
	}
	return pg.ReadAt(p[first:], g.base)
}

// write copies p to stream offset at.
func (g ring) write(pg Page, p []byte, at uint32) error {
	first := min(uint32(len(p)), g.size-at%g.size)
	if err := pg.WriteAt(p[:first], g.base+at%g.size); err != nil {
		return err
	}
	if int(first) == len(p) {
		return nil
	}
	return pg.WriteAt(p[first:], g.base)
}
