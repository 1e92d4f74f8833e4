// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// BzImageHeader is how much of a file's start IsBzImage and FindPayload look
// at, in bytes.
const BzImageHeader = 0x250

// Fields of the Linux x86 setup header (Documentation/arch/x86/boot.rst).
const (
	bzSetupSects    = 0x1f1 // u8: 512-byte sectors of real-mode code, 0 means 4
	bzBootFlag      = 0x1fe // u16: 0xaa55
	bzMagic         = 0x202 // "HdrS"
	bzVersion       = 0x206 // u16: major<<8 | minor
	bzPayloadOffset = 0x248 // u32: from the start of the protected-mode code
	bzPayloadLength = 0x24c // u32

	bzVersionPayload = 0x0208 // the protocol version that added the payload fields
	bzSector         = 512
)

// Payload is where a bzImage has its compressed kernel, in bytes from the
// start of the file.
type Payload struct{ Offset, Length int64 }

// IsBzImage recognises a Linux boot image by its boot flag and "HdrS". head is
// the start of the file, BzImageHeader bytes or more; with less there is no
// bzImage.
func IsBzImage(head []byte) bool {
	return len(head) >= BzImageHeader &&
		binary.LittleEndian.Uint16(head[bzBootFlag:]) == 0xaa55 &&
		string(head[bzMagic:bzMagic+4]) == "HdrS"
}

// FindPayload finds the compressed kernel inside a bzImage of size bytes; head
// is as for IsBzImage. A payload that reaches out of the file is an error
// wrapping ErrFormat, an image that does not say where its payload is one
// wrapping ErrUnsupported.
func FindPayload(head []byte, size int64) (Payload, error) {
	if !IsBzImage(head) {
		return Payload{}, fmt.Errorf("no bzImage header (0xaa55 at %#x, \"HdrS\" at %#x): %w", bzBootFlag, bzMagic, ErrUnsupported)
	}
	le := binary.LittleEndian
	if v := le.Uint16(head[bzVersion:]); v < bzVersionPayload {
		return Payload{}, fmt.Errorf("bzImage of boot protocol %d.%02d does not say where its payload is (needs 2.08, Linux 2.6.26); use its vmlinux: %w", v>>8, v&0xff, ErrUnsupported)
	}
	sects := int64(head[bzSetupSects])
	if sects == 0 {
		sects = 4
	}
	p := Payload{
		Offset: (sects+1)*bzSector + int64(le.Uint32(head[bzPayloadOffset:])),
		Length: int64(le.Uint32(head[bzPayloadLength:])),
	}
	if p.Length == 0 || p.Offset > size || p.Length > size-p.Offset {
		return Payload{}, fmt.Errorf("bzImage payload of %d bytes at %#x lies outside the file (%d bytes): %w", p.Length, p.Offset, size, ErrFormat)
	}
	return p, nil
}

// Unpack unpacks the kernel from r, the whole bzImage, into at most limit
// bytes. It tells the method also when it fails. Whether the result is an ELF
// file is left to the caller.
func (p Payload) Unpack(r io.ReaderAt, limit int64) (out []byte, m Method, err error) {
	out, m, err = p.unpack(r, limit)
	if err != nil {
		return nil, m, fmt.Errorf("bzImage payload (%d bytes at %#x, %s): %w", p.Length, p.Offset, m, err)
	}
	return out, m, nil
}

// unpack does the work. A compressed payload ends in the unpacked size, a
// 32-bit number: Linux's build appends it for every method but gzip, whose own
// format ends so.
func (p Payload) unpack(r io.ReaderAt, limit int64) ([]byte, Method, error) {
	limit, err := clampLimit(limit)
	if err != nil {
		return nil, Unknown, err
	}
	head := make([]byte, max(min(p.Length, headSize), 0))
	if err := readAt(r, head, p.Offset); err != nil {
		return nil, Unknown, err
	}
	m := Detect(head)
	switch m {
	case Unknown:
		return nil, m, fmt.Errorf("payload starts with % x, which is no known compression: %w", head, ErrUnsupported)
	case None, LZO:
		out, err := Stream(m, io.NewSectionReader(r, p.Offset, p.Length), limit)
		return out, m, err
	}
	if p.Length < 4 {
		return nil, m, fmt.Errorf("payload of %d bytes is too short: %w", p.Length, ErrFormat)
	}
	var tail [4]byte
	if err := readAt(r, tail[:], p.Offset+p.Length-4); err != nil {
		return nil, m, err
	}
	want := int64(binary.LittleEndian.Uint32(tail[:]))
	n := p.Length
	if m != Gzip { // a damaged gzip file has a better error than its size
		if want > limit {
			return nil, m, fmt.Errorf("unpacked size %d is more than %d bytes: %w", want, limit, ErrLimit)
		}
		n, limit = n-4, want
	}
	out, err := Stream(m, io.NewSectionReader(r, p.Offset, n), limit)
	if err == nil && int64(len(out)) != want {
		err = fmt.Errorf("unpacked %d bytes where the image announces %d: %w", len(out), want, ErrFormat)
	}
	return out, m, err
}

// Kernel returns the ELF kernel inside a bzImage, which must have at most
// limit bytes. A file that is no bzImage, or whose payload is not an ELF file,
// is an error wrapping ErrUnsupported.
func Kernel(image []byte, limit int64) ([]byte, error) {
	p, err := FindPayload(image, int64(len(image)))
	if err != nil {
		return nil, err
	}
	out, _, err := p.Unpack(bytes.NewReader(image), limit)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(out, []byte(elfMagic)) {
		return nil, fmt.Errorf("bzImage payload starts with % x, which is no ELF file: %w", out[:min(len(out), 4)], ErrUnsupported)
	}
	return out, nil
}

// readAt fills p from offset off of r.
func readAt(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %d bytes at offset %#x: %w", len(p), off, err)
}
