// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// Filter numbers of the .xz format.
const (
	xzFilterX86  = 0x04
	xzFilterLZMA = 0x21
)

// xzHeader is what a block header says. Sizes are in bytes, -1 if not given.
type xzHeader struct {
	packed, unpacked int64
	x86              bool
	dict             int64
}

// block reads one block, whose header size byte has been read already, with
// padding and check.
func (s *xzStream) block(size byte, limit int64) ([]byte, error) {
	first := s.in.n - 1
	raw := make([]byte, (int(size)+1)*4)
	raw[0] = size
	if _, err := io.ReadFull(s.in, raw[1:]); err != nil {
		return nil, fmt.Errorf("xz block header: %w: %w", ErrFormat, err)
	}
	body := raw[:len(raw)-4]
	if binary.LittleEndian.Uint32(raw[len(raw)-4:]) != crc32.ChecksumIEEE(body) {
		return nil, fmt.Errorf("xz block header has a wrong checksum: %w", ErrFormat)
	}
	h, err := parseXzHeader(body)
	if err != nil {
		return nil, err
	}
	if h.unpacked > limit {
		return nil, fmt.Errorf("xz block unpacks to %d bytes, more than %d: %w", h.unpacked, limit, ErrLimit)
	}
	out, err := s.lzma2(h, limit)
	if err != nil {
		return nil, err
	}
	end := s.in.n
	if packed := end - first - int64(len(raw)); h.packed >= 0 && h.packed != packed || h.unpacked >= 0 && h.unpacked != int64(len(out)) {
		return nil, fmt.Errorf("xz block of %d bytes, unpacked %d, announces %d and %d: %w", packed, len(out), h.packed, h.unpacked, ErrFormat)
	}
	for (s.in.n-first)%4 != 0 { // padding
		if b, err := s.in.ReadByte(); err != nil || b != 0 {
			return nil, fmt.Errorf("xz block padding is damaged: %w", ErrFormat)
		}
	}
	if h.x86 {
		decodeX86Branches(out)
	}
	if err := s.check(out); err != nil {
		return nil, err
	}
	s.done = append(s.done, xzRecord{unpadded: end - first + int64(xzCheckSize[s.flags[1]]), size: int64(len(out))})
	return out, nil
}

// lzma2 unpacks a block's data. Its dictionary needs no more bytes than the
// output has, whatever the header says.
func (s *xzStream) lzma2(h xzHeader, limit int64) ([]byte, error) {
	dict := min(h.dict, limit)
	if h.unpacked >= 0 {
		dict = min(dict, h.unpacked)
	}
	dict = max(dict, lzma.MinDictCap)
	if s.dicts += dict; s.dicts > xzMaxDicts {
		return nil, fmt.Errorf("xz blocks need dictionaries of %d bytes together, more than %d: %w", s.dicts, int64(xzMaxDicts), ErrLimit)
	}
	z, err := lzma.Reader2Config{DictCap: int(dict)}.NewReader2(s.in)
	if err != nil {
		return nil, fmt.Errorf("LZMA2: %w: %w", ErrFormat, err)
	}
	return readAll(z, limit)
}

// parseXzHeader reads a block header without its checksum.
func parseXzHeader(p []byte) (xzHeader, error) {
	h := xzHeader{packed: -1, unpacked: -1}
	bad := func(what string) (xzHeader, error) {
		return xzHeader{}, fmt.Errorf("xz block header: %s: %w", what, ErrFormat)
	}
	flags, rest := p[1], p[2:]
	if flags&0x3c != 0 {
		return bad("reserved flags set")
	}
	for _, size := range []struct {
		present byte
		to      *int64
	}{{0x40, &h.packed}, {0x80, &h.unpacked}} {
		if flags&size.present == 0 {
			continue
		}
		v, n := binary.Uvarint(rest)
		if n <= 0 || v > 1<<63-1 {
			return bad("damaged size")
		}
		*size.to, rest = int64(v), rest[n:]
	}
	for i, last := 0, int(flags&3); i <= last; i++ {
		id, n := binary.Uvarint(rest)
		if n <= 0 {
			return bad("damaged filter")
		}
		rest = rest[n:]
		props, n := binary.Uvarint(rest)
		if n <= 0 || props > uint64(len(rest)-n) {
			return bad("damaged filter properties")
		}
		p := rest[n : n+int(props)]
		rest = rest[n+int(props):]
		switch {
		case id == xzFilterX86 && i < last && !h.x86 && len(p) == 0:
			h.x86 = true
		case id == xzFilterLZMA && i == last && len(p) == 1 && p[0] <= 40:
			h.dict = xzDictSize(p[0])
		default:
			return xzHeader{}, fmt.Errorf("xz filter %#x with %d bytes of properties in place %d: %w", id, len(p), i, ErrUnsupported)
		}
	}
	for _, b := range rest {
		if b != 0 {
			return bad("padding is not zero")
		}
	}
	return h, nil
}

// xzDictSize decodes LZMA2's dictionary size property, 0 to 40: two bits of
// mantissa and an exponent, in bytes.
func xzDictSize(b byte) int64 {
	if b == 40 {
		return 1<<32 - 1
	}
	return (2 | int64(b&1)) << (b/2 + 11)
}
