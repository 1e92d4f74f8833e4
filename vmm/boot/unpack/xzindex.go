// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

const xzFooterMagic = "YZ"

// index reads the index, whose first byte has been read already, and the
// stream footer behind it, and compares both with the blocks that came before.
func (s *xzStream) index() error {
	in := indexReader{in: s.in, crc: crc32.ChecksumIEEE([]byte{0}), n: 1}
	count, err := binary.ReadUvarint(&in)
	if err != nil {
		return fmt.Errorf("xz index: %w: %w", ErrFormat, err)
	}
	if count != uint64(len(s.done)) {
		return fmt.Errorf("xz index lists %d blocks of %d: %w", count, len(s.done), ErrFormat)
	}
	for i, r := range s.done {
		unpadded, err := binary.ReadUvarint(&in)
		if err != nil {
			return fmt.Errorf("xz index: %w: %w", ErrFormat, err)
		}
		size, err := binary.ReadUvarint(&in)
		if err != nil {
			return fmt.Errorf("xz index: %w: %w", ErrFormat, err)
		}
		if unpadded != uint64(r.unpadded) || size != uint64(r.size) {
			return fmt.Errorf("xz index: block %d of %d bytes, unpacked %d, is listed with %d and %d: %w", i, r.unpadded, r.size, unpadded, size, ErrFormat)
		}
	}
	for in.n%4 != 0 {
		if b, err := in.ReadByte(); err != nil || b != 0 {
			return fmt.Errorf("xz index padding is damaged: %w", ErrFormat)
		}
	}
	var sum [4]byte
	if _, err := io.ReadFull(s.in, sum[:]); err != nil {
		return fmt.Errorf("xz index: %w: %w", ErrFormat, err)
	}
	if binary.LittleEndian.Uint32(sum[:]) != in.crc {
		return fmt.Errorf("xz index has a wrong checksum: %w", ErrFormat)
	}
	return s.footer(in.n + 4)
}

// footer reads the stream footer: checksum, size of the index in words less
// one, the stream flags again, magic.
func (s *xzStream) footer(indexSize int64) error {
	var f [xzHeaderSize]byte
	if _, err := io.ReadFull(s.in, f[:]); err != nil {
		return fmt.Errorf("xz stream footer: %w: %w", ErrFormat, err)
	}
	le := binary.LittleEndian
	if le.Uint32(f[:]) != crc32.ChecksumIEEE(f[4:10]) || (int64(le.Uint32(f[4:]))+1)*4 != indexSize ||
		[2]byte(f[8:10]) != s.flags || string(f[10:]) != xzFooterMagic {
		return fmt.Errorf("xz stream footer % x is damaged: %w", f, ErrFormat)
	}
	return nil
}

// indexReader counts and sums up what the index consists of.
type indexReader struct {
	in  *countingReader
	crc uint32
	n   int64
}

func (r *indexReader) ReadByte() (byte, error) {
	b, err := r.in.ReadByte()
	if err == nil {
		r.crc = crc32.Update(r.crc, crc32.IEEETable, []byte{b})
		r.n++
	}
	return b, err
}
