// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Max is the largest result of any call, in bytes. A distribution vmlinux
// takes 30 to 90 MB.
const Max = 512 << 20

// zstdWindow is the largest window accepted, in bytes. Linux is packed with
// 128 MiB, however small the kernel, so the result's limit does not bound it.
const zstdWindow = 128 << 20

// Bytes unpacks p by the method that its first bytes tell; an ELF file comes
// back as it is. The result has at most limit bytes: more is an error wrapping
// ErrLimit. A method not known or not supported is one wrapping
// ErrUnsupported.
func Bytes(p []byte, limit int64) ([]byte, error) {
	head := p[:min(len(p), headSize)]
	m := Detect(head)
	if m == Unknown {
		return nil, fmt.Errorf("starts with % x, which is no known compression: %w", head, ErrUnsupported)
	}
	out, err := Stream(m, bytes.NewReader(p), limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m, err)
	}
	return out, nil
}

// Stream unpacks one file of method m from r into memory, at most limit bytes:
// more is an error wrapping ErrLimit. It may read past the end of what it
// unpacks. An error of r comes back wrapped, and then is not taken for damage.
func Stream(m Method, r io.Reader, limit int64) ([]byte, error) {
	limit, err := clampLimit(limit)
	if err != nil {
		return nil, err
	}
	src := &source{r: r}
	out, err := decode(m, src, limit)
	switch {
	case err == nil:
		return out, nil
	case src.err != nil:
		return nil, fmt.Errorf("read after %d bytes: %w", src.n, src.err)
	}
	return nil, err
}

// decode is Stream with a limit that has been checked.
func decode(m Method, r io.Reader, limit int64) ([]byte, error) {
	switch m {
	case None:
		return readAll(r, limit)
	case Gzip:
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		z.Multistream(false)
		return readAll(z, limit)
	case Bzip2:
		return readAll(bzip2.NewReader(r), limit)
	case LZ4:
		return readAll(lz4.NewReader(r), limit)
	case LZMA:
		return unpackLzma(r, limit)
	case XZ:
		return unpackXz(bufio.NewReader(r), limit)
	case Zstd:
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderMaxMemory(Max))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		defer z.Close()
		return readAll(z, limit)
	case LZO:
		return nil, fmt.Errorf("lzo is not supported; use a kernel packed with gzip, xz, lz4 or zstd, or its vmlinux: %w", ErrUnsupported)
	}
	return nil, fmt.Errorf("compression %q is not known: %w", m, ErrUnsupported)
}
