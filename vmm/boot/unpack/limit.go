// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// firstBuffer is how much readAll sets aside at first, in bytes.
const firstBuffer = 32 << 10

// maxEmptyReads is how often in a row a decoder may return nothing.
const maxEmptyReads = 100

// clampLimit checks a caller's limit and cuts it off at Max.
func clampLimit(limit int64) (int64, error) {
	if limit < 0 {
		return 0, fmt.Errorf("limit of %d bytes is negative: %w", limit, ErrLimit)
	}
	return min(limit, Max), nil
}

// readAll reads a decoder to its end, but no more than limit bytes, 0 to Max.
// The buffer grows with what has come, not with what was announced, and never
// beyond the limit and the one byte that shows it exceeded.
func readAll(r io.Reader, limit int64) ([]byte, error) {
	buf := make([]byte, 0, min(limit+1, firstBuffer))
	for empty := 0; ; {
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(2*int64(cap(buf)), limit+1))
			copy(grown, buf)
			buf = grown
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if int64(len(buf)) > limit {
			return nil, fmt.Errorf("unpacks to more than %d bytes: %w", limit, ErrLimit)
		}
		if n > 0 {
			empty = 0
		} else if empty++; err == nil && empty > maxEmptyReads {
			err = io.ErrNoProgress
		}
		switch {
		case err == io.EOF:
			return buf, nil
		case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
			return nil, fmt.Errorf("after %d bytes: %w: %w", len(buf), ErrLimit, err)
		case err != nil:
			return nil, fmt.Errorf("after %d bytes: %w: %w", len(buf), ErrFormat, err)
		}
	}
}

// source keeps the error of the input, which decoders mix up with their own.
type source struct {
	r   io.Reader
	n   int64 // bytes read
	err error // other than io.EOF
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.n += int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}
