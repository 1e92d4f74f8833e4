// SPDX-License-Identifier: Apache-2.0

package initramfs

import (
	"bytes"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/cavaliergopher/cpio"
)

func TestArchiveHasParentsBeforeChildren(t *testing.T) {
	var b bytes.Buffer
	err := Write(&b, []Entry{
		{Path: "/init", Mode: 0o755, Data: []byte("program")},
		{Path: "lab/modules/a.ko", Mode: 0o644, Data: []byte("odd")},
		{Path: "bin", Mode: fs.ModeDir | 0o700},
		{Path: "bin/sh", Mode: fs.ModeSymlink | 0o777, Data: []byte("../init")},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	r := cpio.NewReader(&b)
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		p, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, h.Name+" "+h.Mode.String()+" "+string(p)+h.Linkname)
	}
	want := []string{"bin ", "bin/sh ", "init ", "lab ", "lab/modules ", "lab/modules/a.ko "}
	if len(got) != len(want) {
		t.Fatalf("archive holds %q", got)
	}
	for i, w := range want {
		if !strings.HasPrefix(got[i], w) {
			t.Errorf("entry %d is %q, want %q", i, got[i], w)
		}
	}
	if !strings.HasSuffix(got[1], "../init") || !strings.HasSuffix(got[5], "odd") {
		t.Errorf("contents: %q", got)
	}
}

func TestArchiveIsReproducible(t *testing.T) {
	var a, b bytes.Buffer
	x, y := Entry{Path: "a/x", Data: []byte("1")}, Entry{Path: "b/y", Data: []byte("2")}
	if err := Write(&a, []Entry{x, y}); err != nil {
		t.Fatal(err)
	}
	if err := Write(&b, []Entry{y, x}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("the order of entries changes the archive")
	}
}

func TestBadEntriesAreRefused(t *testing.T) {
	for name, entries := range map[string][]Entry{
		"twice":            {{Path: "a"}, {Path: "/a"}},
		"outside":          {{Path: "../a"}},
		"the root":         {{Path: "/"}},
		"file as a parent": {{Path: "a"}, {Path: "a/b"}},
		"device":           {{Path: "null", Mode: fs.ModeDevice}},
	} {
		if err := Write(io.Discard, entries); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
