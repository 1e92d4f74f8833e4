// SPDX-License-Identifier: Apache-2.0

package debugport

import (
	"bytes"
	"testing"
)

func TestPort(t *testing.T) {
	var out bytes.Buffer
	d := New(&out)
	p := []byte{0, 0}
	d.Read(0, p)
	if p[0] != 0xe9 || p[1] != 0xe9 {
		t.Errorf("reads % x", p)
	}
	d.Write(0, []byte("o"))
	d.Write(0, []byte("k\n"))
	if out.String() != "ok\n" {
		t.Errorf("%q", out.String())
	}
	New(nil).Write(0, p) // nowhere to write to
}

func FuzzPort(f *testing.F) {
	f.Add([]byte("text"))
	f.Fuzz(func(t *testing.T, p []byte) {
		var out bytes.Buffer
		d := New(&out)
		p = p[:min(len(p), 8)]
		d.Write(0, p)
		if !bytes.Equal(out.Bytes(), p) {
			t.Errorf("% x came out as % x", p, out.Bytes())
		}
	})
}
