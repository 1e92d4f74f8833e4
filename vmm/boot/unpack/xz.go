// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"hash/crc64"
	"io"
)

// Numbers of the .xz container ("The .xz File Format", 1.1.0).
const (
	xzMagic      = "\xfd7zXZ\x00"
	xzHeaderSize = 12

	xzCheckCRC32  = 1
	xzCheckCRC64  = 4
	xzCheckSHA256 = 10
)

// xzMaxDicts bounds the dictionaries of all blocks together, in bytes: each
// block has a new one that is cleared first, so that a file of many tiny
// blocks could ask for hours of clearing.
const xzMaxDicts = 8 * Max

// xzCheckSize is the size of the check field for each check type.
var xzCheckSize = [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}

// xzStream is an .xz stream being read.
type xzStream struct {
	in    *countingReader
	flags [2]byte // of the stream: zero, check type
	dicts int64   // bytes of dictionaries used so far
	done  []xzRecord
}

// xzRecord is what the index says about a block.
type xzRecord struct {
	unpadded int64 // bytes in the file: header, data and check, without padding
	size     int64 // bytes unpacked
}

// unpackXz unpacks the first stream of an .xz file. Linux packs its x86
// kernels with the x86 branch filter in front of LZMA2, which the xz library
// does not know; so the container and the filter are read here and only LZMA2
// is left to the library.
func unpackXz(r *bufio.Reader, limit int64) ([]byte, error) {
	s := xzStream{in: &countingReader{r: r}}
	var head [xzHeaderSize]byte
	if _, err := io.ReadFull(s.in, head[:]); err != nil {
		return nil, fmt.Errorf("xz stream header: %w: %w", ErrFormat, err)
	}
	if string(head[:6]) != xzMagic || binary.LittleEndian.Uint32(head[8:]) != crc32.ChecksumIEEE(head[6:8]) || head[6] != 0 || head[7] > 15 {
		return nil, fmt.Errorf("xz stream header % x is damaged: %w", head, ErrFormat)
	}
	s.flags = [2]byte(head[6:8])
	var out []byte
	for {
		size, err := s.in.ReadByte()
		if err != nil {
			return nil, fmt.Errorf("xz block header: %w: %w", ErrFormat, err)
		}
		if size == 0 { // the index: no more blocks
			if err := s.index(); err != nil {
				return nil, err
			}
			return out, nil
		}
		block, err := s.block(size, limit-int64(len(out)))
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = block
		} else {
			out = append(out, block...)
		}
	}
}

// check reads a block's check field and compares it. Types that the format
// reserves are read over.
func (s *xzStream) check(block []byte) error {
	var field [64]byte
	sum := field[:xzCheckSize[s.flags[1]]]
	if _, err := io.ReadFull(s.in, sum); err != nil {
		return fmt.Errorf("xz block check: %w: %w", ErrFormat, err)
	}
	ok := true
	switch s.flags[1] {
	case xzCheckCRC32:
		ok = binary.LittleEndian.Uint32(sum) == crc32.ChecksumIEEE(block)
	case xzCheckCRC64:
		ok = binary.LittleEndian.Uint64(sum) == crc64.Checksum(block, crc64.MakeTable(crc64.ECMA))
	case xzCheckSHA256:
		ok = sha256.Sum256(block) == [sha256.Size]byte(sum)
	}
	if !ok {
		return fmt.Errorf("xz block of %d bytes has a wrong checksum: %w", len(block), ErrFormat)
	}
	return nil
}

// countingReader counts what was consumed; it reads single bytes for the LZMA2
// decoder, so that nothing past the end of the block is taken.
type countingReader struct {
	r *bufio.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *countingReader) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}
