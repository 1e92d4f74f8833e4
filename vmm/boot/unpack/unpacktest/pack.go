// SPDX-License-Identifier: Apache-2.0

package unpacktest

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
)

// Methods are those that Pack knows, all that a Go library can write.
func Methods() []string { return []string{"gzip", "zstd", "zstd-window", "xz", "lzma", "lz4"} }

// Pack compresses data by one of Methods. "zstd-window" is zstd that announces
// a window of 16 MiB instead of the size of data.
func Pack(t testing.TB, method string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := writer(method, &b)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatalf("pack with %s: %v", method, err)
	}
	return b.Bytes()
}

func writer(method string, w io.Writer) (io.WriteCloser, error) {
	switch method {
	case "gzip":
		return gzip.NewWriter(w), nil
	case "zstd":
		return zstd.NewWriter(w)
	case "zstd-window":
		z, err := zstd.NewWriter(w, zstd.WithWindowSize(1<<24))
		return streamed{z}, err
	case "xz":
		return xz.NewWriter(w)
	case "lzma":
		return lzma.NewWriter(w)
	case "lz4":
		z := lz4.NewWriter(w)
		return z, z.Apply(lz4.LegacyOption(true))
	}
	return nil, fmt.Errorf("unknown method %q", method)
}

// streamed writes in small pieces, so that the packer cannot know the size and
// announces its whole window.
type streamed struct{ *zstd.Encoder }

func (s streamed) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = s.Encoder.Write(p[n:min(n+100, len(p))])
		n += m
		if err == nil {
			err = s.Flush()
		}
	}
	return n, err
}

// Payload compresses a kernel as the payload of a bzImage: with the unpacked
// size behind it for every method but gzip, which ends in it anyway. Besides
// Methods it knows "none".
func Payload(t testing.TB, method string, kernel []byte) []byte {
	t.Helper()
	switch method {
	case "none":
		return kernel
	case "gzip":
		return Pack(t, method, kernel)
	}
	return Sized(Pack(t, method, kernel), len(kernel))
}

// Sized is p with a size behind it, 32 bits little endian.
func Sized(p []byte, n int) []byte {
	return binary.LittleEndian.AppendUint32(bytes.Clone(p), uint32(n))
}
