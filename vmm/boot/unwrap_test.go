// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"xenvmm/vmm/boot/unpack/unpacktest"
)

func TestWrappedKernelsAreUnpacked(t *testing.T) {
	kernel := testKernel(64).build()
	n := len(kernel)
	packedImage := func(method string) []byte { return unpacktest.BzImage(unpacktest.Payload(t, method, kernel)) }
	for _, c := range []struct {
		name, method string
		container    Container
		file         []byte
	}{
		{"gzip file", "gzip", Gzip, unpacktest.Pack(t, "gzip", kernel)},
		{"bzImage gzip", "gzip", BzImage, packedImage("gzip")},
		{"bzImage uncompressed", "none", BzImage, packedImage("none")},
		{"bzImage zstd", "zstd", BzImage, packedImage("zstd")},
		{"bzImage zstd, window larger than the kernel", "zstd", BzImage, packedImage("zstd-window")},
		{"bzImage xz", "xz", BzImage, packedImage("xz")},
		{"bzImage lzma", "lzma", BzImage, packedImage("lzma")},
		{"bzImage lz4", "lz4", BzImage, packedImage("lz4")},
	} {
		t.Run(c.name, func(t *testing.T) {
			img, g := mustLoad(t, testParams(c.file))
			if img.Container != c.container || img.Entry != testLoad+0x20 {
				t.Errorf("container %q, entry %#x", img.Container, img.Entry)
			}
			if !bytes.Equal(g.mem[testLoad:testLoad+0x3000], pattern(0x3000, 1)) {
				t.Error("text differs")
			}
			rep, err := Inspect(bytes.NewReader(c.file), int64(len(c.file)))
			if err != nil || rep.Compression != c.method || rep.Kind != "ELF64 in "+string(c.container) || rep.Unpacked != int64(n) || !rep.PVH || len(rep.Warnings) != 0 {
				t.Errorf("report %+v, %v", rep, err)
			}
		})
	}
}

func TestDamagedWrappersAreRefused(t *testing.T) {
	kernel := testKernel(64).build()
	gz := unpacktest.Pack(t, "gzip", kernel)
	zst := unpacktest.Pack(t, "zstd", kernel)
	xzs := unpacktest.Pack(t, "xz", kernel)
	edit := func(p []byte, f func([]byte)) []byte { q := bytes.Clone(p); f(q); return q }
	le := binary.LittleEndian
	for _, c := range []struct {
		name  string
		file  []byte
		kind  error
		words []string
	}{
		{"gzip cut off", gz[:len(gz)/2], ErrFormat, []string{"gzip"}},
		{"gzip header only", gz[:2], ErrFormat, []string{"gzip"}},
		{"gzip of text", unpacktest.Pack(t, "gzip", []byte("hello")), ErrUnsupported, []string{"ELF magic"}},
		{"old bzImage", edit(unpacktest.BzImage(gz), func(p []byte) { le.PutUint16(p[unpacktest.OffVersion:], 0x0207) }), ErrUnsupported, []string{"2.07", "vmlinux"}},
		{"payload outside", edit(unpacktest.BzImage(gz), func(p []byte) { le.PutUint32(p[unpacktest.OffPayloadOffset:], 0xffffffff) }), ErrFormat, []string{"outside"}},
		{"payload too long", edit(unpacktest.BzImage(gz), func(p []byte) { le.PutUint32(p[unpacktest.OffPayloadLength:], 0xffffffff) }), ErrFormat, []string{"outside"}},
		{"payload empty", edit(unpacktest.BzImage(gz), func(p []byte) { le.PutUint32(p[unpacktest.OffPayloadLength:], 0) }), ErrFormat, []string{"0 bytes"}},
		{"payload of 2 bytes", unpacktest.BzImage([]byte{0x28, 0xb5}), ErrUnsupported, []string{"28 b5"}},
		{"lzo", unpacktest.BzImage([]byte("\x89LZO\x00\r\n\x1a\n0000")), ErrUnsupported, []string{"lzo"}},
		{"unknown compression", unpacktest.BzImage([]byte("abcdefghij")), ErrUnsupported, []string{"61 62"}},
		{"wrong size", unpacktest.BzImage(unpacktest.Sized(zst, len(kernel)+1)), ErrFormat, []string{"announces"}},
		{"larger than announced", unpacktest.BzImage(unpacktest.Sized(zst, len(kernel)-1)), ErrLimit, nil},
		{"announces too much", unpacktest.BzImage(unpacktest.Sized(zst, 0xffffffff)), ErrLimit, []string{"4294967295"}},
		{"zstd damaged", unpacktest.BzImage(unpacktest.Sized(edit(zst, func(p []byte) { p[20] ^= 0xff }), len(kernel))), ErrFormat, []string{"zstd"}},
		{"xz damaged", unpacktest.BzImage(unpacktest.Sized(edit(xzs, func(p []byte) { p[len(p)/2] ^= 0xff }), len(kernel))), ErrFormat, []string{"xz"}},
		{"xz block header damaged", unpacktest.BzImage(unpacktest.Sized(edit(xzs, func(p []byte) { p[14] ^= 0xff }), len(kernel))), ErrFormat, []string{"checksum"}},
		{"xz header damaged", unpacktest.BzImage(unpacktest.Sized(edit(xzs, func(p []byte) { p[7] ^= 0x1 }), len(kernel))), ErrFormat, []string{"header"}},
		{"xz cut off", unpacktest.BzImage(unpacktest.Sized(xzs[:40], len(kernel))), ErrFormat, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Plan(testParams(c.file))
			checkError(t, err, c.kind, append(c.words, "vmlinux")...)
			rep, err := Inspect(bytes.NewReader(c.file), int64(len(c.file)))
			if err != nil || len(rep.Warnings) == 0 {
				t.Errorf("report %+v, %v", rep, err)
			}
		})
	}
}

func TestUnpackingStopsAtTheLimit(t *testing.T) {
	bomb := unpacktest.Pack(t, "gzip", make([]byte, 1<<20))
	if _, err := unwrap(Bytes("bomb", bomb), 1<<20); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	_, err := unwrap(Bytes("bomb", bomb), 1<<20-1)
	checkError(t, err, ErrLimit, "1048575")
}

// brokenBehind reads well up to a point, and then fails.
type brokenBehind struct {
	data []byte
	good int64
	err  error
}

func (b brokenBehind) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > b.good {
		return 0, b.err
	}
	return copy(p, b.data[off:]), nil
}

func TestReadErrorsInsideAPayloadAreNotTakenForDamage(t *testing.T) {
	disk := errors.New("disk on fire")
	kernel := testKernel(64).build()
	for name, file := range map[string][]byte{
		"gzip file": unpacktest.Pack(t, "gzip", kernel),
		"bzImage":   unpacktest.BzImage(unpacktest.Payload(t, "zstd", kernel)),
	} {
		t.Run(name, func(t *testing.T) {
			data := brokenBehind{data: file, good: int64(len(file)) / 2, err: disk}
			if _, err := Inspect(data, int64(len(file))); !errors.Is(err, disk) || isFileFault(err) {
				t.Errorf("Inspect: %v", err)
			}
			p := testParams(nil)
			p.Kernel = File{Name: "k", Data: data, Size: int64(len(file))}
			if _, err := Plan(p); !errors.Is(err, disk) || isFileFault(err) {
				t.Errorf("Plan: %v", err)
			}
		})
	}
}
