// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os/exec"
	"strings"
	"testing"

	"xenvmm/vmm/boot/unpack/unpacktest"
)

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// xzTool packs data with the xz tool.
func xzTool(t *testing.T, data []byte, args ...string) []byte {
	t.Helper()
	tool, err := exec.LookPath("xz")
	if err != nil {
		t.Skip("needs the xz tool: ", err)
	}
	cmd := exec.Command(tool, append([]string{"--stdout"}, args...)...)
	cmd.Stdin = bytes.NewReader(data)
	file, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestFilteredXZUnpacks(t *testing.T) {
	got, err := Bytes(xzWithX86, int64(len(plainCode)))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, plainCode) {
		t.Errorf("differs at %d of %d", firstDifference(got, plainCode), len(plainCode))
	}
}

func TestFilteredXZIsChecked(t *testing.T) {
	_, err := Bytes(xzWithX86, int64(len(plainCode))-1)
	checkError(t, err, ErrLimit, "599")
	for i := range len(xzWithX86) {
		p := bytes.Clone(xzWithX86)
		p[i] ^= 0x10
		// A chunk that says to be longer than the decoder needs does no harm.
		if got, err := Bytes(p, 1<<20); err == nil && !bytes.Equal(got, plainCode) {
			t.Errorf("byte %d changed: wrong data without an error", i)
		} else if err == nil && i != 27 && i != 28 {
			t.Errorf("byte %d changed: no error", i)
		}
		if _, err := Bytes(xzWithX86[:i], 1<<20); err == nil {
			t.Errorf("cut to %d bytes: no error", i)
		}
	}
}

func TestXzWithX86FilterAsTheXzToolPacksIt(t *testing.T) {
	for i, check := range []string{"crc32", "crc64", "none", "sha256", "crc32", "crc32"} {
		want := unpacktest.Code(30000+i*997, uint32(i))
		file := xzTool(t, want, "--check="+check, "--x86", "--lzma2=dict=1MiB")
		got, err := Bytes(file, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%s, round %d: differs at %d of %d", check, i, firstDifference(got, want), len(want))
		}
	}
}

func TestXzOfManyBlocks(t *testing.T) {
	want := unpacktest.Code(300000, 3)
	for _, args := range [][]string{
		{"--block-size=7001", "-T1"},
		{"--block-size=50001", "-T2"}, // the block headers have sizes
		{"--block-size=7001", "-T1", "--check=crc32", "--x86", "--lzma2=dict=64KiB"},
	} {
		file := xzTool(t, want, args...)
		got, err := Bytes(file, int64(len(want)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q: differs at %d of %d: %v", args, firstDifference(got, want), len(want), err)
		}
		_, err = Bytes(file, int64(len(want))-1)
		checkError(t, err, ErrLimit, "xz")
	}
}

func TestXzDataChecksumIsChecked(t *testing.T) {
	data := bytes.Repeat([]byte("check me"), 10)
	for _, c := range []struct {
		check string
		size  int
	}{{"crc32", 4}, {"crc64", 8}, {"sha256", 32}} {
		file := xzTool(t, data, "--check="+c.check)
		// Behind the check come an index of one block with two short sizes, 4
		// bytes and its checksum, and the footer.
		file[len(file)-xzHeaderSize-8-c.size] ^= 1
		_, err := Bytes(file, 1000)
		checkError(t, err, ErrFormat, "xz", "checksum")
	}
}

func TestXzOtherFiltersAreRefused(t *testing.T) {
	_, err := Bytes(xzTool(t, unpacktest.Code(1000, 1), "--arm", "--lzma2"), 1<<20)
	checkError(t, err, ErrUnsupported, "0x7")
}

func TestXzOfNothing(t *testing.T) {
	got, err := Bytes(xzTool(t, nil), 0)
	if err != nil || len(got) != 0 {
		t.Errorf("%q, %v", got, err)
	}
}

// xzBlockOf makes a block header: flags, then sizes and filters.
func xzBlockOf(flags byte, fields []byte, padding byte) []byte {
	body := append([]byte{0, flags}, fields...)
	for len(body)%4 != 0 {
		body = append(body, padding)
	}
	body[0] = byte(len(body) / 4)
	return binary.LittleEndian.AppendUint32(body, crc32.ChecksumIEEE(body))
}

func xzStart(check byte) []byte {
	flags := []byte{0, check}
	return binary.LittleEndian.AppendUint32(append([]byte(xzMagic), flags...), crc32.ChecksumIEEE(flags))
}

// lzma2Of is data in one LZMA2 chunk that is not compressed.
func lzma2Of(data string) []byte {
	p := append([]byte{1}, binary.BigEndian.AppendUint16(nil, uint16(len(data)-1))...)
	return append(append(p, data...), 0)
}

func TestHostileXzBlockHeadersAreRefused(t *testing.T) {
	const lzma2 = "\x21\x01\x00"
	data := lzma2Of("abcd") // 8 bytes
	huge := "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
	for _, c := range []struct {
		name    string
		flags   byte
		fields  string
		padding byte
		kind    error
		words   []string
	}{
		{"reserved flags", 0x04, lzma2, 0, ErrFormat, []string{"reserved"}},
		{"size of 2^64-1", 0x40, huge + lzma2, 0, ErrFormat, []string{"damaged size"}},
		{"size cut off", 0x40, "\xff\xff", 0xff, ErrFormat, []string{"damaged size"}},
		{"packed size wrong", 0x40, "\x09" + lzma2, 0, ErrFormat, []string{"announces 9 and -1"}},
		{"unpacked size wrong", 0x80, "\x05" + lzma2, 0, ErrFormat, []string{"announces -1 and 5"}},
		{"unpacked size over the limit", 0x80, "\x80\x80\x01" + lzma2, 0, ErrLimit, []string{"16384"}},
		{"properties over the end", 0, "\x21\x7f\x00", 0, ErrFormat, []string{"filter properties"}},
		{"filter cut off", 3, lzma2 + "\xff\xff", 0xff, ErrUnsupported, []string{"place 0"}},
		{"number of no filter", 0, "\xff\xff\xff", 0xff, ErrFormat, []string{"damaged filter"}},
		{"x86 filter alone", 0, "\x04\x00", 0, ErrUnsupported, []string{"0x4"}},
		{"x86 filter twice", 2, "\x04\x00\x04\x00" + lzma2, 0, ErrUnsupported, []string{"place 1"}},
		{"x86 filter with an offset", 1, "\x04\x04\x00\x00\x00\x00" + lzma2, 0, ErrUnsupported, []string{"4 bytes"}},
		{"LZMA2 first", 1, lzma2 + "\x04\x00", 0, ErrUnsupported, []string{"0x21"}},
		{"dictionary of no size", 0, "\x21\x01\x29", 0, ErrUnsupported, []string{"0x21"}},
		{"padding", 0, lzma2, 1, ErrFormat, []string{"padding"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := append(append(xzStart(0), xzBlockOf(c.flags, []byte(c.fields), c.padding)...), data...)
			_, err := Bytes(file, 1000)
			checkError(t, err, c.kind, append(c.words, "xz")...)
		})
	}
}

func TestXzDictionaries(t *testing.T) {
	for b, want := range map[byte]int64{0: 4 << 10, 1: 6 << 10, 2: 8 << 10, 28: 64 << 20, 39: 3 << 30, 40: 1<<32 - 1} {
		if got := xzDictSize(b); got != want {
			t.Errorf("property %d: %d bytes, not %d", b, got, want)
		}
	}
}

// TestXzBlocksCannotAskForEndlessDictionaries: blocks of 4 bytes with a
// dictionary of 4 GiB each, which is cut off at the limit.
func TestXzBlocksCannotAskForEndlessDictionaries(t *testing.T) {
	block := append(xzBlockOf(0, []byte("\x21\x01\x28"), 0), lzma2Of("abcd")...)
	s := xzStream{dicts: xzMaxDicts - 8<<20}
	h, err := parseXzHeader(block[:8])
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		s.in = &countingReader{r: bufio.NewReader(bytes.NewReader(lzma2Of("abcd")))}
		if _, err = s.lzma2(h, 1<<20); err != nil {
			if i != 8 {
				t.Errorf("refused after %d MiB", i)
			}
			break
		}
	}
	checkError(t, err, ErrLimit, "dictionaries")
}

func TestXzIndexAndFooterAreCompared(t *testing.T) {
	block := append(xzBlockOf(0, []byte("\x21\x01\x00"), 0), lzma2Of("abcd")...)
	build := func(index, footer string) []byte {
		p := append(xzStart(0), block...)
		for len(index)%4 != 0 {
			index += "\x00"
		}
		p = append(p, index...)
		p = binary.LittleEndian.AppendUint32(p, crc32.ChecksumIEEE([]byte(index)))
		p = binary.LittleEndian.AppendUint32(p, crc32.ChecksumIEEE([]byte(footer)))
		return append(append(p, footer...), "YZ"...)
	}
	const index, footer = "\x00\x01\x14\x04", "\x01\x00\x00\x00\x00\x00"
	if got, err := Bytes(build(index, footer), 4); err != nil || string(got) != "abcd" {
		t.Fatalf("%q, %v", got, err)
	}
	for _, c := range []struct{ name, index, footer, word string }{
		{"no block", "\x00\x00", footer, "lists 0 blocks of 1"},
		{"many blocks", "\x00\xff\xff\xff\xff\x0f", footer, "blocks of 1"},
		{"other packed size", "\x00\x01\x15\x04", footer, "21 and 4"},
		{"other unpacked size", "\x00\x01\x14\x05", footer, "20 and 5"},
		{"endless number", "\x00" + strings.Repeat("\xff", 30), footer, "xz index"},
		{"other size of the index", index, "\x02\x00\x00\x00\x00\x00", "footer"},
		{"other check type", index, "\x01\x00\x00\x00\x00\x01", "footer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Bytes(build(c.index, c.footer), 4)
			checkError(t, err, ErrFormat, c.word)
		})
	}
}
