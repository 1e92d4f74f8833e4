// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// minLzmaDict is the dictionary that is always allowed, in bytes.
const minLzmaDict = 64 << 10

// unpackLzma unpacks an .lzma file. The decoder allocates the dictionary that
// the header asks for, so it is lowered first to what the output can use: no
// match reaches further back than the output is long.
func unpackLzma(r io.Reader, limit int64) ([]byte, error) {
	var h [lzma.HeaderLen]byte // properties, u32 dictionary size, u64 unpacked size
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return nil, fmt.Errorf("lzma header: %w: %w", ErrFormat, err)
	}
	if most := max(limit, minLzmaDict); int64(binary.LittleEndian.Uint32(h[1:])) > most {
		binary.LittleEndian.PutUint32(h[1:], uint32(most))
	}
	// Buffered once more: a MultiReader has no ReadByte.
	z, err := lzma.NewReader(bufio.NewReader(io.MultiReader(bytes.NewReader(h[:]), r)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return readAll(z, limit)
}
