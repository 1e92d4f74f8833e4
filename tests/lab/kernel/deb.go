// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// A Debian package (deb(5)) is an ar archive of debian-binary, control.tar and
// data.tar, the tars compressed.

const (
	arMagic      = "!<arch>\n"
	arHeaderSize = 60
)

var errDeb = errors.New("not a Debian package")

// walkDeb calls visit for every regular file of the package's data. visit
// must read what it wants from r before it returns.
func walkDeb(deb io.Reader, visit func(name string, size int64, r io.Reader) error) error {
	br := bufio.NewReaderSize(deb, 1<<20)
	data, name, err := arMember(br, "data.tar")
	if err != nil {
		return err
	}
	plain, done, err := decompressor(data, name)
	if err != nil {
		return fmt.Errorf("package: %s: %w", name, err)
	}
	defer done()
	tr := tar.NewReader(plain)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			// The checksum of the whole stands behind the archive's end.
			if _, err := io.Copy(io.Discard, plain); err != nil {
				return fmt.Errorf("package: %s: %w", name, err)
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("package: %s: %w", name, err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := visit(strings.TrimPrefix(h.Name, "./"), h.Size, tr); err != nil {
			return err
		}
	}
}

// arMember skips to the first member whose name starts with prefix.
func arMember(r *bufio.Reader, prefix string) (io.Reader, string, error) {
	var magic [len(arMagic)]byte
	if _, err := io.ReadFull(r, magic[:]); err != nil || string(magic[:]) != arMagic {
		return nil, "", errDeb
	}
	for {
		var h [arHeaderSize]byte
		if _, err := io.ReadFull(r, h[:]); err != nil {
			return nil, "", fmt.Errorf("%w: no member %s", errDeb, prefix)
		}
		if string(h[58:]) != "`\n" {
			return nil, "", fmt.Errorf("%w: damaged member header", errDeb)
		}
		name := strings.TrimRight(string(bytes.TrimRight(h[:16], " ")), "/")
		size, err := strconv.ParseInt(string(bytes.TrimRight(h[48:58], " ")), 10, 64)
		if err != nil || size < 0 {
			return nil, "", fmt.Errorf("%w: size of member %s", errDeb, name)
		}
		if strings.HasPrefix(name, prefix) {
			return io.LimitReader(r, size), name, nil
		}
		if _, err := io.CopyN(io.Discard, r, size+size&1); err != nil {
			return nil, "", fmt.Errorf("%w: member %s is cut off", errDeb, name)
		}
	}
}

// decompressor chooses by the member's name.
func decompressor(r io.Reader, name string) (plain io.Reader, done func(), err error) {
	nothing := func() {}
	switch {
	case strings.HasSuffix(name, ".xz"):
		x, err := xz.ReaderConfig{DictCap: 128 << 20}.NewReader(bufio.NewReaderSize(r, 1<<20))
		return x, nothing, err
	case strings.HasSuffix(name, ".zst"):
		z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	case strings.HasSuffix(name, ".gz"):
		g, err := gzip.NewReader(r)
		return g, nothing, err
	case strings.HasSuffix(name, ".tar"):
		return r, nothing, nil
	}
	return nil, nil, errors.New("unknown compression")
}
