// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"xenvmm/vmm/boot/unpack/unpacktest"
)

func TestKernelComesOutOfABzImage(t *testing.T) {
	elf := append([]byte("\x7fELF"), bytes.Repeat([]byte{1, 2, 3}, 10000)...)
	for _, method := range append(unpacktest.Methods(), "none") {
		got, err := Kernel(unpacktest.BzImage(unpacktest.Payload(t, method, elf)), 1<<20)
		if err != nil || !bytes.Equal(got, elf) {
			t.Errorf("%s: %d bytes, %v", method, len(got), err)
		}
	}
	// Some wrappers of kernels put the size behind gzip too.
	if got, err := Kernel(unpacktest.BzImage(unpacktest.Sized(unpacktest.Pack(t, "gzip", elf), len(elf))), 1<<20); err != nil || !bytes.Equal(got, elf) {
		t.Errorf("gzip with size: %d bytes, %v", len(got), err)
	}
	if got, err := Kernel(unpacktest.BzImage(unpacktest.Sized(bzipped, len(bzippedPlain))), 1<<20); err != nil || string(got) != bzippedPlain {
		t.Errorf("bzip2: %q, %v", got, err)
	}
}

func TestSetupSectorsOfZeroMeanFour(t *testing.T) {
	elf := append([]byte("\x7fELF"), make([]byte, 100)...)
	img := unpacktest.BzImage(elf)
	sector := make([]byte, 512)
	img = append(img[:1024:1024], append(sector, img[1024:]...)...)
	img[unpacktest.OffSetupSects] = 0
	if got, err := Kernel(img, 1<<20); err != nil || !bytes.Equal(got, elf) {
		t.Errorf("%x, %v", got, err)
	}
}

func TestBadBzImagesAreRefused(t *testing.T) {
	elf := append([]byte("\x7fELF"), make([]byte, 1000)...)
	p, z := unpacktest.Pack(t, "gzip", elf), unpacktest.Pack(t, "zstd", elf)
	img := func(p []byte, size int) []byte { return unpacktest.BzImage(unpacktest.Sized(p, size)) }
	good := img(p, len(elf))
	change := func(f func(img []byte)) []byte {
		img := bytes.Clone(good)
		f(img)
		return img
	}
	le := binary.LittleEndian
	for _, c := range []struct {
		name  string
		img   []byte
		kind  error
		words []string
	}{
		{"empty", nil, ErrUnsupported, []string{"HdrS"}},
		{"header cut off", good[:BzImageHeader-1], ErrUnsupported, []string{"HdrS"}},
		{"header only", good[:BzImageHeader], ErrFormat, []string{"outside"}},
		{"other magic", change(func(b []byte) { b[unpacktest.OffMagic] = 0 }), ErrUnsupported, []string{"HdrS"}},
		{"no boot flag", change(func(b []byte) { b[unpacktest.OffBootFlag] = 0 }), ErrUnsupported, []string{"0xaa55"}},
		{"old protocol", change(func(b []byte) { le.PutUint16(b[unpacktest.OffVersion:], 0x0207) }), ErrUnsupported, []string{"2.07", "vmlinux"}},
		{"payload far", change(func(b []byte) { b[unpacktest.OffPayloadOffset+3] = 0xff }), ErrFormat, []string{"outside"}},
		{"payload long", change(func(b []byte) { b[unpacktest.OffPayloadLength+3] = 0xff }), ErrFormat, []string{"outside"}},
		{"payload short", change(func(b []byte) { le.PutUint32(b[unpacktest.OffPayloadLength:], 0) }), ErrFormat, []string{"0 bytes"}},
		{"payload of 3 bytes", unpacktest.BzImage([]byte("BZh")), ErrFormat, []string{"too short"}},
		{"trailer less", img(p, len(elf)-1), ErrFormat, []string{"announces 1003"}},
		{"trailer more", img(p, len(elf)+1), ErrFormat, []string{"announces 1005"}},
		{"zstd trailer less", img(z, len(elf)-1), ErrLimit, []string{"1003"}},
		{"zstd trailer more", img(z, len(elf)+1), ErrFormat, []string{"announces 1005"}},
		{"gzip over the limit", unpacktest.BzImage(unpacktest.Pack(t, "gzip", make([]byte, 1<<21))), ErrLimit, []string{"1048576"}},
		{"over the limit", img(z, 1<<21), ErrLimit, []string{"2097152", "1048576"}},
		{"trailer over the limit", img(p, 1<<21), ErrFormat, []string{"announces 2097152"}},
		{"not ELF", unpacktest.BzImage(unpacktest.Payload(t, "gzip", []byte("text"))), ErrUnsupported, []string{"74 65"}},
		{"shorter than a magic number", unpacktest.BzImage(unpacktest.Payload(t, "gzip", []byte("t"))), ErrUnsupported, nil},
		{"lzo", unpacktest.BzImage([]byte("\x89LZO\x00\r\n\x1a\n0000")), ErrUnsupported, []string{"lzo"}},
		{"unknown compression", unpacktest.BzImage([]byte("abcdefghij")), ErrUnsupported, []string{"61 62"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := Kernel(c.img, 1<<20)
			checkError(t, err, c.kind, c.words...)
			if out != nil {
				t.Errorf("%d bytes with an error", len(out))
			}
		})
	}
	if _, err := Kernel(good, 1<<20); err != nil {
		t.Error("the unchanged image:", err)
	}
}

func TestPayloadTellsItsMethodAlsoWhenItFails(t *testing.T) {
	img := unpacktest.BzImage(unpacktest.Sized([]byte("\x28\xb5\x2f\xfdjunk"), 100))
	p, err := FindPayload(img, int64(len(img)))
	if err != nil {
		t.Fatal(err)
	}
	_, m, err := p.Unpack(bytes.NewReader(img), 1<<20)
	if m != Zstd {
		t.Errorf("method %q", m)
	}
	checkError(t, err, ErrFormat, "bzImage payload (12 bytes at 0x900, zstd)")
	_, _, err = p.Unpack(bytes.NewReader(img), -1)
	checkError(t, err, ErrLimit, "-1")
}

func TestFilesShorterThanTheySayAreReadErrors(t *testing.T) {
	img := unpacktest.BzImage([]byte("\x7fELF"))
	p := Payload{Offset: int64(len(img)) - 2, Length: 100}
	if _, _, err := p.Unpack(bytes.NewReader(img), 1<<20); !errors.Is(err, io.ErrUnexpectedEOF) || isFault(err) {
		t.Error(err)
	}
	for _, p := range []Payload{{-1, 10}, {10, -1}, {0, 0}} {
		if _, _, err := p.Unpack(bytes.NewReader(img), 1<<20); err == nil {
			t.Errorf("%+v: no error", p)
		}
	}
}

func BenchmarkUnpackBzImage(b *testing.B) {
	text := unpacktest.Code(8<<20, 1)
	for _, m := range []string{"gzip", "zstd"} {
		b.Run(m, func(b *testing.B) {
			img := unpacktest.BzImage(unpacktest.Payload(b, m, text))
			p, err := FindPayload(img, int64(len(img)))
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, _, err := p.Unpack(bytes.NewReader(img), Max); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
