// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"xenvmm/xenshim/abi"
)

// model is a slow tree: a flat map, whole-tree scans and no sharing.
type model struct {
	nodes map[string]modelNode
	order int
	q     Quotas
	fired []string // paths changed by the last request; "=" marks exact ones
}

type modelNode struct {
	value string
	perms []Perm
	born  int
}

func newModel(s *Store) *model {
	m := &model{nodes: map[string]modelNode{}, q: s.quotas}
	for p, n := range s.nodes {
		m.nodes[p] = modelNode{string(n.value), n.perms, 0}
	}
	return m
}

func (m *model) access(dom abi.DomID, n modelNode) Access {
	if dom == 0 || n.perms[0].Dom == dom {
		return Read | Write | owner
	}
	for _, p := range n.perms[1:] {
		if p.Dom == dom {
			return p.Access
		}
	}
	return n.perms[0].Access
}

func (m *model) up(p string) string {
	for {
		if p = parent(p); p == "/" {
			return p
		}
		if _, ok := m.nodes[p]; ok {
			return p
		}
	}
}

func (m *model) lookup(dom abi.DomID, p string, need Access) string {
	if n, ok := m.nodes[p]; ok {
		if m.access(dom, n)&need != need {
			return "!EACCES"
		}
		return ""
	}
	if m.access(dom, m.nodes[m.up(p)])&need != need {
		return "!EACCES"
	}
	return "!ENOENT"
}

func (m *model) children(p string) []string {
	var c []string
	for k := range m.nodes {
		if k != "/" && parent(k) == p {
			c = append(c, k)
		}
	}
	sort.Slice(c, func(i, j int) bool { return m.nodes[c[i]].born < m.nodes[c[j]].born })
	return c
}

func (m *model) add(dom abi.DomID, p, v string) string {
	top := m.up(p)
	perms := slices.Clone(m.nodes[top].perms)
	var missing []string
	for x := p; x != top; x = parent(x) {
		missing = append(missing, x)
	}
	if dom != 0 {
		owned := 0
		for _, n := range m.nodes {
			if n.perms[0].Dom == dom {
				owned++
			}
		}
		if owned+len(missing) > m.q.Nodes {
			return "!ENOSPC"
		}
		perms[0].Dom = dom
	}
	slices.Reverse(missing)
	for _, x := range missing {
		m.order++
		m.nodes[x] = modelNode{"", perms, m.order}
	}
	n := m.nodes[p]
	n.value = v
	m.nodes[p] = n
	m.fired = append(m.fired, p)
	return ok
}

// do answers a request of a domain as the wire would.
func (m *model) do(dom abi.DomID, typ uint32, path, arg string) string {
	m.fired = nil
	need := Read
	switch typ {
	case abi.XSWrite, abi.XSMkdir, abi.XSRm:
		need = Write
	case abi.XSSetPerms:
		need = Write | owner
	}
	e := m.lookup(dom, path, need)
	switch typ {
	case abi.XSWrite, abi.XSMkdir:
		if e == "!ENOENT" {
			return m.add(dom, path, arg)
		}
		if e == "" && typ == abi.XSWrite {
			n := m.nodes[path]
			n.value = arg
			m.nodes[path] = n
			m.fired = append(m.fired, path)
		}
	case abi.XSRm:
		if e == "!ENOENT" {
			if _, there := m.nodes[parent(path)]; there {
				return ok
			}
		}
		if e == "" {
			if path == "/" {
				return "!EINVAL"
			}
			for k := range m.nodes {
				if strings.HasPrefix(k, path+"/") {
					delete(m.nodes, k)
					m.fired = append(m.fired, "="+k)
				}
			}
			delete(m.nodes, path)
			m.fired = append(m.fired, path)
		}
	case abi.XSSetPerms:
		if e == "" {
			perms, _ := parsePerms([]byte(arg))
			n := m.nodes[path]
			if dom != 0 && perms[0].Dom != n.perms[0].Dom {
				return "!EPERM"
			}
			n.perms = perms
			m.nodes[path] = n
			m.fired = append(m.fired, path)
		}
	}
	if e != "" {
		return e
	}
	switch typ {
	case abi.XSRead:
		return m.nodes[path].value
	case abi.XSDirectory:
		r := ""
		for _, c := range m.children(path) {
			r += leaf(c) + "\x00"
		}
		return r
	case abi.XSGetPerms:
		r := ""
		for _, p := range m.nodes[path].perms {
			r += p.String() + "\x00"
		}
		return r
	}
	return ok
}

func (m *model) clone() *model {
	c := *m
	c.nodes = map[string]modelNode{}
	for k, v := range m.nodes {
		c.nodes[k] = v
	}
	return &c
}

// same compares the tree with the model.
func (m *model) same(t *rapid.T, s *Store) {
	if len(m.nodes) != len(s.nodes) {
		t.Fatalf("%d nodes, model %d", len(s.nodes), len(m.nodes))
	}
	owned := map[abi.DomID]int{}
	for p, n := range s.nodes {
		w, ok := m.nodes[p]
		if !ok || w.value != string(n.value) || !slices.Equal(w.perms, n.perms) {
			t.Fatalf("%s: %q %v, model %q %v", p, n.value, n.perms, w.value, w.perms)
		}
		owned[n.owner()]++
		var kids []string
		for _, c := range m.children(p) {
			kids = append(kids, leaf(c))
		}
		slices.Sort(kids)
		have := slices.Sorted(slices.Values(n.children))
		if !slices.Equal(kids, have) {
			t.Fatalf("%s: children %v, model %v", p, have, kids)
		}
	}
	if fmt.Sprint(owned) != fmt.Sprint(s.owners) {
		t.Fatalf("owners %v, counted %v", s.owners, owned)
	}
}

// request is what a step asks for; it is kept to be replayed.
type request struct {
	typ       uint32
	path, arg string
	reply     string
}

func (r request) payload() string {
	switch r.typ {
	case abi.XSWrite:
		return r.path + "\x00" + r.arg
	case abi.XSSetPerms:
		return r.path + "\x00" + r.arg
	}
	return r.path + "\x00"
}

func drawRequest(t *rapid.T) request {
	types := []uint32{abi.XSRead, abi.XSWrite, abi.XSWrite, abi.XSMkdir, abi.XSRm, abi.XSDirectory, abi.XSGetPerms, abi.XSSetPerms}
	r := request{typ: rapid.SampledFrom(types).Draw(t, "type")}
	r.path = rapid.SampledFrom([]string{"/local/domain/1/data", "/local/domain/1/data", "/local/domain/1", "/shared", "/"}).Draw(t, "dir")
	for range rapid.IntRange(0, 3).Draw(t, "depth") {
		r.path = join(r.path, rapid.SampledFrom([]string{"a", "b", "ab"}).Draw(t, "name"))
	}
	switch r.typ {
	case abi.XSWrite:
		r.arg = rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "value")
	case abi.XSSetPerms:
		r.arg = rapid.SampledFrom([]string{nul("n1"), nul("r1"), nul("n1", "b2"), nul("b1", "r2"), nul("n2", "b1"), nul("r0")}).Draw(t, "perms")
	}
	return r
}

// TestTreeAgainstModel runs requests of two guests and the host, in and out of
// transactions. A transaction sees the tree of its start; one that is committed must have given the answers
// that its requests give, one after the other, at the moment of the commit;
// one that isn't must have been overtaken by some change.
func TestTreeAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newStore(rt0(t, rt), Quotas{Nodes: 12})
		if err := s.Write("/shared/a", "s"); err != nil {
			rt.Fatal(err)
		}
		s.SetPerms("/shared", Perm{0, Read}, Perm{1, Read | Write})
		m := newModel(s)
		type tx struct {
			c     *client
			id    uint32
			log   []request
			since int
			m     *model // the tree at its start, with its own changes
		}
		clients := []*client{newClient(t, s, 1), newClient(t, s, 2)}
		var open []*tx
		changes := 0
		watcher := clients[0]
		for _, p := range []string{"/local/domain/1/data", "/local/domain/1/data/a/b", "/shared/a", "/shared"} {
			watcher.want(abi.XSWatch, 0, nul(p, "t"), ok)
		}
		watcher.wantEvents("/local/domain/1/data t", "/local/domain/1/data/a/b t", "/shared/a t", "/shared t")

		// expect is which of the watches the model's changes fire.
		expect := func(before, after *model, fired []string) []string {
			set := map[string]bool{}
			for _, f := range fired {
				p, exact := strings.CutPrefix(f, "=")
				visible := false
				for _, v := range []*model{before, after} {
					for _, q := range []string{p, parent(p)} {
						if n, ok := v.nodes[q]; ok && v.access(1, n)&Read != 0 {
							visible = true
						}
					}
				}
				if !visible {
					continue
				}
				for _, w := range watcher.c.watches {
					if w.path == p || (!exact && strings.HasPrefix(p, w.path+"/")) {
						set[p+" t"] = true
						if _, under := below(p, w.path); !under {
							panic(p)
						}
					}
				}
			}
			var out []string
			for e := range set {
				out = append(out, e)
			}
			slices.Sort(out)
			return out
		}
		check := func(rt *rapid.T, before *model, fired []string) {
			watcher.collect()
			got := slices.Compact(slices.Sorted(slices.Values(watcher.events)))
			if want := expect(before, m, fired); !slices.Equal(got, want) {
				rt.Fatalf("events %q, model %q", got, want)
			}
			watcher.events = nil
		}

		rt.Repeat(map[string]func(*rapid.T){
			"guest": func(rt *rapid.T) {
				c := clients[rapid.IntRange(0, 1).Draw(rt, "client")]
				r := drawRequest(rt)
				before := m.clone()
				want := m.do(c.c.who.dom, r.typ, r.path, r.arg)
				if got := c.do(r.typ, 0, r.payload()); got != want {
					rt.Fatalf("%d %q %q: %q, model %q", r.typ, r.path, r.arg, got, want)
				}
				changes += len(m.fired)
				check(rt, before, m.fired)
			},
			"host": func(rt *rapid.T) {
				r := drawRequest(rt)
				before := m.clone()
				var err error
				switch r.typ {
				case abi.XSWrite:
					err = s.Write(r.path, r.arg)
				case abi.XSRm:
					err = s.Rm(r.path)
				case abi.XSMkdir:
					err = s.Mkdir(r.path)
				default:
					rt.Skip()
				}
				if want := m.do(0, r.typ, r.path, r.arg); (err == nil) != (want == ok) {
					rt.Fatalf("host %d %q: %v, model %q", r.typ, r.path, err, want)
				}
				changes += len(m.fired)
				check(rt, before, m.fired)
			},
			"begin": func(rt *rapid.T) {
				if len(open) > 3 {
					rt.Skip()
				}
				c := clients[rapid.IntRange(0, 1).Draw(rt, "client")]
				open = append(open, &tx{c: c, id: c.begin(), since: changes, m: m.clone()})
			},
			"in transaction": func(rt *rapid.T) {
				if len(open) == 0 {
					rt.Skip()
				}
				x := open[rapid.IntRange(0, len(open)-1).Draw(rt, "which")]
				r := drawRequest(rt)
				r.reply = x.c.do(r.typ, x.id, r.payload())
				x.log = append(x.log, r)
				if want := x.m.do(x.c.c.who.dom, r.typ, r.path, r.arg); r.reply != want {
					rt.Fatalf("%d %q %q in a transaction: %q, model of its start %q", r.typ, r.path, r.arg, r.reply, want)
				}
				check(rt, m, nil)
			},
			"end": func(rt *rapid.T) {
				if len(open) == 0 {
					rt.Skip()
				}
				i := rapid.IntRange(0, len(open)-1).Draw(rt, "which")
				x := open[i]
				open = slices.Delete(open, i, i+1)
				if rapid.IntRange(0, 3).Draw(rt, "drop") == 0 {
					x.c.want(abi.XSTransactionEnd, x.id, nul("F"), ok)
					check(rt, m, nil)
					return
				}
				before := m.clone()
				switch got := x.c.do(abi.XSTransactionEnd, x.id, nul("T")); got {
				case ok:
					var fired []string
					for _, r := range x.log {
						if want := m.do(x.c.c.who.dom, r.typ, r.path, r.arg); want != r.reply {
							rt.Fatalf("committed, but %d %q gave %q and would give %q", r.typ, r.path, r.reply, want)
						}
						fired = append(fired, m.fired...)
					}
					changes += len(fired)
					// Events may name versions that existed only inside.
					watcher.events = nil
				case "!EAGAIN", "!ENOSPC":
					if changes == x.since {
						rt.Fatalf("%s without any change since the start", got)
					}
					check(rt, before, nil)
				default:
					rt.Fatal(got)
				}
				watcher.collect()
				watcher.events = nil
			},
			"": func(rt *rapid.T) { m.same(rt, s) },
		})
	})
}

// rt0 lets helpers that take a testing.TB report to the outer test.
func rt0(t *testing.T, _ *rapid.T) testing.TB { return t }
