// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"encoding/binary"
	"strings"
	"testing"

	"xenvmm/xenshim/abi"
)

// FuzzRing feeds raw bytes to a ring: pieces of the request stream, mixed with
// arbitrary stores to the words of the page.
func FuzzRing(f *testing.F) {
	piece := func(b []byte) []byte { return append([]byte{byte(len(b))}, b...) }
	f.Add(piece(message(abi.XSRead, 1, 0, nul("data"))))
	f.Add(append(piece(message(abi.XSWatch, 1, 0, nul("data", "t"))), piece(message(abi.XSWrite, 2, 0, nul("data/x")+"v"))...))
	f.Add(append([]byte{0xff, 0, 1, 0, 0, 0x80}, piece(message(abi.XSTransactionStart, 1, 0, nul("")))...))
	f.Add([]byte{0xff, 5, 1, 0, 0, 0, 20, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		g := newGuest(t, Quotas{Nodes: 50})
		for len(data) > 0 {
			n := int(data[0])
			data = data[1:]
			if n == 0xff && len(data) >= 5 {
				g.store(abi.XenstoreReqCons+uint32(data[0]%8)*4, binary.LittleEndian.Uint32(data[1:]))
				data = data[5:]
			} else {
				n = min(n, len(data))
				prod := g.load(abi.XenstoreReqProd)
				for i, b := range data[:n] {
					if err := g.page.WriteAt([]byte{b}, (prod+uint32(i))%ringSize); err != nil {
						t.Fatal(err)
					}
				}
				g.store(abi.XenstoreReqProd, prod+uint32(n))
				data = data[n:]
			}
			g.r.Kick()
			g.get(1 + n)
		}
		g.settle()
		g.r.Close()
		s := g.s
		if s.owners[guestDom] > 50 || len(s.conns) != 0 {
			t.Fatalf("%d nodes, %d connections", s.owners[guestDom], len(s.conns))
		}
	})
}

// FuzzRequest sends one arbitrary request, alone and in a transaction, and
// checks that each gets exactly one well-formed reply and that the tree stays
// a tree.
func FuzzRequest(f *testing.F) {
	for typ := range uint32(24) {
		f.Add(typ, nul("data"), uint32(0))
		f.Add(typ, nul("data/a", "n1", "r2"), uint32(1))
	}
	f.Add(uint32(abi.XSWatch), nul("@releaseDomain", "t", "3"), uint32(0))
	f.Add(uint32(abi.XSWrite), nul("/local/domain/1/data/"+strings.Repeat("a/", 1500)+"z"), uint32(0))
	f.Add(uint32(abi.XSDirectoryPart), nul("data", "4294967295"), uint32(0))
	f.Fuzz(func(t *testing.T, typ uint32, payload string, tx uint32) {
		if len(payload) > abi.XenstorePayloadMax {
			return
		}
		s := newStore(t, Quotas{})
		c := newClient(t, s, guestDom)
		id := c.begin()
		for _, x := range []uint32{0, tx, id} {
			c.do(typ, x, payload)
		}
		c.do(abi.XSTransactionEnd, id, nul("T"))
		owned := 0
		for p, n := range s.nodes {
			if !validPath(p) {
				t.Fatalf("node %q", p)
			}
			if p != "/" {
				found := false
				if up := s.nodes[parent(p)]; up != nil {
					for _, name := range up.children {
						found = found || name == leaf(p)
					}
				}
				if !found {
					t.Fatalf("%q is not in its directory", p)
				}
			}
			for _, name := range n.children {
				if s.nodes[join(p, name)] == nil {
					t.Fatalf("%q lists %q, which isn't there", p, name)
				}
			}
			if n.owner() == guestDom {
				owned++
			}
		}
		if owned != s.owners[guestDom] || owned > s.quotas.Nodes {
			t.Fatalf("%d nodes of the guest, counted %d", owned, s.owners[guestDom])
		}
	})
}

// FuzzPath checks that only paths of the documented syntax pass.
func FuzzPath(f *testing.F) {
	for _, p := range []string{"/", "", "a", "/a/b", "/a/", "//", "a//b", "@x", "/a b", "/a\x00"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		abs, relative, ok := absolute("/local/domain/1", p)
		want := len(p) > 0 && !strings.Contains(p, "//") && (p == "/" || !strings.HasSuffix(p, "/"))
		for _, r := range []byte(p) {
			want = want && strings.IndexByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-/_@", r) >= 0
		}
		if strings.HasPrefix(p, "/") {
			want = want && len(p) <= abi.XenstoreAbsPathMax
		} else {
			want = want && len(p) <= abi.XenstoreRelPathMax
		}
		if ok != want {
			t.Fatalf("%q: %v", p, ok)
		}
		if ok && relative != !strings.HasPrefix(p, "/") || ok && relative && abs != "/local/domain/1/"+p {
			t.Fatalf("%q became %q", p, abs)
		}
	})
}
