// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// deb makes a Debian package of files, its data compressed as ext says.
func deb(t testing.TB, ext string, files map[string][]byte) []byte {
	t.Helper()
	var data bytes.Buffer
	w := io.WriteCloser(nopCloser{&data})
	var err error
	switch ext {
	case ".xz":
		w, err = xz.NewWriter(&data)
	case ".zst":
		w, err = zstd.NewWriter(&data)
	case ".gz":
		w = gzip.NewWriter(&data)
	}
	if err != nil {
		t.Fatal(err)
	}
	tw := tar.NewWriter(w)
	err = tw.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "./boot/", Mode: 0o755})
	for name, p := range files {
		err = errors.Join(err, tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "./" + name, Mode: 0o644, Size: int64(len(p))}))
		_, e := tw.Write(p)
		err = errors.Join(err, e)
	}
	if err = errors.Join(err, tw.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	return ar([]member{{"debian-binary", []byte("2.0\n")}, {"control.tar.xz", []byte("odd")}, {"data.tar" + ext, data.Bytes()}})
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

type member struct {
	name string
	data []byte
}

func ar(members []member) []byte {
	b := bytes.NewBufferString(arMagic)
	for _, m := range members {
		fmt.Fprintf(b, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", m.name+"/", 0, 0, 0, 0o100644, len(m.data))
		b.Write(m.data)
		if len(m.data)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

func TestPackageFilesAreVisited(t *testing.T) {
	files := map[string][]byte{"boot/vmlinuz-1": []byte("kernel"), "lib/modules/1/kernel/a.ko": bytes.Repeat([]byte("m"), 100000)}
	for _, ext := range []string{".xz", ".zst", ".gz", ""} {
		got := map[string][]byte{}
		err := walkDeb(bytes.NewReader(deb(t, ext, files)), func(name string, size int64, r io.Reader) error {
			p, err := io.ReadAll(r)
			if int64(len(p)) != size {
				t.Errorf("%s: size %d, %d bytes", name, size, len(p))
			}
			got[name] = p
			return err
		})
		if err != nil || len(got) != len(files) {
			t.Errorf("data.tar%s: %d files, %v", ext, len(got), err)
		}
		for name, p := range files {
			if !bytes.Equal(got[name], p) {
				t.Errorf("data.tar%s: %s differs", ext, name)
			}
		}
	}
}

func TestBadPackagesAreRefused(t *testing.T) {
	good := deb(t, ".gz", map[string][]byte{"a": []byte("b")})
	for name, p := range map[string][]byte{
		"empty":        nil,
		"other magic":  []byte("!<arch>x" + string(good[8:])),
		"no data":      ar([]member{{"debian-binary", []byte("2.0\n")}}),
		"unknown data": ar([]member{{"data.tar.br", []byte("?")}}),
		"bad header":   append([]byte(arMagic), bytes.Repeat([]byte{'x'}, arHeaderSize)...),
		"cut":          good[:len(good)-10],
		"bad size":     bytes.Replace(good, []byte("4         `"), []byte("-4        `"), 1),
	} {
		err := walkDeb(bytes.NewReader(p), func(string, int64, io.Reader) error { return nil })
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzWalkDeb(f *testing.F) {
	f.Add(deb(f, ".gz", map[string][]byte{"boot/vmlinuz-1": []byte("k")}))
	f.Add(deb(f, "", map[string][]byte{"boot/vmlinuz-1": []byte("k")}))
	f.Fuzz(func(t *testing.T, p []byte) {
		_ = walkDeb(bytes.NewReader(p), func(_ string, _ int64, r io.Reader) error {
			_, err := io.Copy(io.Discard, io.LimitReader(r, 1<<16))
			return err
		})
	})
}
