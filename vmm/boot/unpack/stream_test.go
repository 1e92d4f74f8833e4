// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"xenvmm/vmm/boot/unpack/unpacktest"
)

// checkError wants an error of a kind that names things.
func checkError(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error %v is not %v", err, kind)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q lacks %q", err, w)
		}
	}
}

// isFault tells that the input was found at fault.
func isFault(err error) bool {
	return errors.Is(err, ErrFormat) || errors.Is(err, ErrUnsupported) || errors.Is(err, ErrLimit)
}

// everyMethod calls f for data in every format a Go library can write.
func everyMethod(t *testing.T, data []byte, f func(t *testing.T, packed []byte)) {
	for _, method := range unpacktest.Methods() {
		t.Run(method, func(t *testing.T) { f(t, unpacktest.Pack(t, method, data)) })
	}
}

func TestEveryFormatUnpacks(t *testing.T) {
	data := bytes.Repeat([]byte("a kernel "), 20000)
	everyMethod(t, data, func(t *testing.T, p []byte) {
		got, err := Bytes(p, int64(len(data)))
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
}

func TestMethodsAreTold(t *testing.T) {
	for _, method := range unpacktest.Methods() {
		if got := Detect(unpacktest.Pack(t, method, []byte("x"))); string(got) != strings.TrimSuffix(method, "-window") {
			t.Errorf("%s is taken for %q", method, got)
		}
	}
	for head, want := range map[string]Method{
		"\x7fELF": None, "\x7fEL": Unknown, "": Unknown, "BZh9": Bzip2, "\x89LZO\x00\r\n\x1a\n": LZO,
		"\x04\x22\x4d\x18": Unknown, // the other framing of lz4, which Linux doesn't use
	} {
		if got := Detect([]byte(head)); got != want {
			t.Errorf("%q is taken for %q, not %q", head, got, want)
		}
	}
}

func TestPlainELFComesBackAsItIs(t *testing.T) {
	elf := append([]byte("\x7fELF"), make([]byte, 100000)...)
	if got, err := Bytes(elf, int64(len(elf))); err != nil || !bytes.Equal(got, elf) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	_, err := Bytes(elf, int64(len(elf))-1)
	checkError(t, err, ErrLimit, "100003")
}

func TestBzip2Unpacks(t *testing.T) {
	got, err := Bytes(bzipped, int64(len(bzippedPlain)))
	if err != nil || string(got) != bzippedPlain {
		t.Errorf("%q, %v", got, err)
	}
	_, err = Bytes(bzipped, int64(len(bzippedPlain))-1)
	checkError(t, err, ErrLimit, "bzip2")
	_, err = Bytes(bzipped[:40], 1<<20)
	checkError(t, err, ErrFormat, "bzip2")
}

func TestResultBeyondTheLimitIsRefused(t *testing.T) {
	data := make([]byte, 1<<20)
	everyMethod(t, data, func(t *testing.T, p []byte) {
		for _, limit := range []int64{int64(len(data)) - 1, 1, 0, -1} {
			if out, err := Bytes(p, limit); !errors.Is(err, ErrLimit) || out != nil {
				t.Errorf("limit %d: %d bytes, %v", limit, len(out), err)
			}
		}
		for _, limit := range []int64{int64(len(data)), Max, 1<<63 - 1} {
			if out, err := Bytes(p, limit); err != nil || len(out) != len(data) {
				t.Errorf("limit %d: %d bytes, %v", limit, len(out), err)
			}
		}
	})
}

func TestEmptyResult(t *testing.T) {
	everyMethod(t, nil, func(t *testing.T, p []byte) {
		if out, err := Bytes(p, 0); err == nil && len(out) != 0 {
			t.Errorf("%d bytes, %v", len(out), err)
		}
	})
}

func TestDamageIsFound(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcdef"), 5000)
	everyMethod(t, data, func(t *testing.T, p []byte) {
		for _, cut := range []int{len(p) / 2, 7} {
			got, err := Bytes(p[:cut], 1<<20)
			if err == nil && bytes.Equal(got, data) {
				t.Errorf("cut to %d bytes unpacks", cut)
			}
			if err != nil && !isFault(err) {
				t.Errorf("cut to %d bytes: not taken for damage: %v", cut, err)
			}
		}
	})
}

func TestOtherFilesAreRefused(t *testing.T) {
	_, err := Bytes([]byte("\x7fELx and more"), 1000)
	checkError(t, err, ErrUnsupported, "7f 45 4c 78")
	_, err = Bytes(nil, 1000)
	checkError(t, err, ErrUnsupported)
	_, err = Bytes([]byte("\x89LZO\x00\r\n\x1a\n"), 1000)
	checkError(t, err, ErrUnsupported, "lzo")
	for _, m := range []Method{"", Unknown, "rar"} {
		_, err = Stream(m, strings.NewReader("x"), 1000)
		checkError(t, err, ErrUnsupported, string(m))
	}
}

// failing gives its bytes, then an error.
type failing struct {
	p   *bytes.Reader
	err error
}

func (f failing) Read(p []byte) (int, error) {
	n, err := f.p.Read(p)
	if err == io.EOF {
		err = f.err
	}
	return n, err
}

func TestReadErrorsAreNotTakenForDamage(t *testing.T) {
	disk := errors.New("disk on fire")
	everyMethod(t, unpacktest.Code(1<<20, 1), func(t *testing.T, p []byte) {
		for _, good := range []int{0, 3, len(p) / 2} {
			out, err := Stream(Detect(p), failing{bytes.NewReader(p[:good]), disk}, 1<<20)
			if out != nil || !errors.Is(err, disk) || isFault(err) {
				t.Errorf("after %d bytes: %d bytes, %v", good, len(out), err)
			}
		}
	})
}

// stuck never gets anywhere.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestADecoderThatReturnsNothingIsLeft(t *testing.T) {
	if _, err := readAll(stuck{}, 100); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
}

func TestBufferStaysWithinTheLimit(t *testing.T) {
	for _, limit := range []int64{0, 1, firstBuffer - 1, firstBuffer, firstBuffer + 1, 5 * firstBuffer} {
		out, err := readAll(bytes.NewReader(make([]byte, limit)), limit)
		if err != nil || int64(len(out)) != limit || int64(cap(out)) > limit+1 {
			t.Errorf("limit %d: %d bytes in %d, %v", limit, len(out), cap(out), err)
		}
	}
}

func TestLzmaDictionaryIsLoweredToTheLimit(t *testing.T) {
	data := bytes.Repeat([]byte("abcdefg"), 1000)
	p := unpacktest.Pack(t, "lzma", data)
	copy(p[1:5], "\x00\x00\xff\xff") // the dictionary: almost 4 GiB
	if got, err := Bytes(p, int64(len(data))); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestZstdWindowIsBounded(t *testing.T) {
	// Frame header (RFC 8878, 3.1.1): no size, a window of 2^(10+31) bytes.
	_, err := Bytes([]byte("\x28\xb5\x2f\xfd\x00\xf8\x01\x00\x00"), 1<<20)
	checkError(t, err, ErrLimit, "zstd")
	// One segment of 8 bytes of size: 1 TiB.
	_, err = Bytes([]byte("\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x00\x01\x00\x00\x01\x00\x00"), 1<<20)
	checkError(t, err, ErrLimit, "zstd")
}

func TestWhatStandsBehindIsIgnoredWhereTheEndIsKnown(t *testing.T) {
	data := []byte("first")
	for _, method := range []string{"gzip", "xz", "lzma"} {
		p := append(unpacktest.Pack(t, method, data), unpacktest.Pack(t, method, []byte("second"))...)
		if got, err := Bytes(append(p, "junk"...), 100); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %q, %v", method, got, err)
		}
	}
}

func TestWhatTheToolsPackUnpacks(t *testing.T) {
	data := unpacktest.Code(300000, 7)
	for _, c := range [][]string{
		{"gzip", "-9"}, {"bzip2", "-9"}, {"lz4", "-l", "-9"}, {"xz", "--format=lzma", "-6"},
		{"xz", "--check=crc32", "--x86", "--lzma2=dict=128MiB"}, // as Linux's build does it
		{"zstd", "-3", "--long=27"},                             // the window of Linux's -22 --ultra, in less time
	} {
		t.Run(strings.Join(c, " "), func(t *testing.T) {
			tool, err := exec.LookPath(c[0])
			if err != nil {
				t.Skipf("needs the %s tool: %v", c[0], err)
			}
			cmd := exec.Command(tool, append(c[1:], "-c")...)
			cmd.Stdin = bytes.NewReader(data)
			p, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := Bytes(p, int64(len(data))); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
}

func TestGzipChecksumIsChecked(t *testing.T) {
	p := unpacktest.Pack(t, "gzip", []byte("some data"))
	p[len(p)-8] ^= 1
	_, err := Bytes(p, 100)
	checkError(t, err, ErrFormat, gzip.ErrChecksum.Error())
}

func FuzzBytes(f *testing.F) {
	elf := append([]byte("\x7fELF"), bytes.Repeat([]byte("abc"), 100)...)
	f.Add(elf)
	for _, method := range append(unpacktest.Methods(), "none") {
		p := unpacktest.Payload(f, method, elf)
		f.Add(p)
		f.Add(unpacktest.BzImage(p))
	}
	f.Add(xzWithX86)
	f.Add(bzipped)
	f.Fuzz(func(t *testing.T, p []byte) {
		const limit = 1 << 16
		for name, unpack := range map[string]func([]byte, int64) ([]byte, error){"Bytes": Bytes, "Kernel": Kernel} {
			out, err := unpack(p, limit)
			if err == nil && len(out) > limit {
				t.Fatalf("%s: %d bytes, the limit is %d", name, len(out), limit)
			}
			if err != nil && (out != nil || !isFault(err)) {
				t.Fatalf("%s: %d bytes and error %v", name, len(out), err)
			}
		}
	})
}
