// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"strings"
	"testing"

	"xenvmm/xenshim/abi"
)

const guestDom = abi.DomID(1)

// client speaks the protocol to a connection, without a ring in between.
type client struct {
	t      testing.TB
	s      *Store
	c      *conn
	nextID uint32
	events []string // "path token", in order of arrival
}

func newClient(t testing.TB, s *Store, dom abi.DomID) *client {
	return &client{t: t, s: s, c: s.connect(cred{dom: dom}, nil), nextID: 100}
}

// newStore returns a store in which the guest owns /local/domain/1/data.
func newStore(t testing.TB, q Quotas) *Store {
	t.Helper()
	s := NewStore(Config{Domain: guestDom, Quotas: q})
	if err := s.Mkdir("/local/domain/1/data"); err != nil {
		t.Fatal(err)
	}
	if err := s.SetPerms("/local/domain/1", Perm{0, None}, Perm{guestDom, Read}); err != nil {
		t.Fatal(err)
	}
	if err := s.SetPerms("/local/domain/1/data", Perm{guestDom, None}); err != nil {
		t.Fatal(err)
	}
	return s
}

// nul joins strings with a NUL after each.
func nul(parts ...string) string { return strings.Join(append(parts, ""), "\x00") }

// collect takes queued messages; it returns the replies and files the events.
func (c *client) collect() (replies []string, headers []header) {
	c.t.Helper()
	for {
		var it item
		var ok bool
		c.s.locked(func() { it, ok = c.c.queue.next() })
		if !ok {
			return replies, headers
		}
		msg := it.message()
		h, p := decodeHeader(msg), string(msg[abi.XSHeaderSize:])
		if int(h.size) != len(p) || h.size > abi.XenstorePayloadMax {
			c.t.Fatalf("message %+v has %d bytes of payload", h, len(p))
		}
		if h.typ == abi.XSWatchEvent {
			f := strings.Split(p, "\x00")
			if h.reqID != 0 || h.txID != 0 || len(f) != 3 || f[2] != "" {
				c.t.Fatalf("event %+v %q", h, p)
			}
			c.events = append(c.events, f[0]+" "+f[1])
			continue
		}
		c.s.locked(c.c.queue.taken)
		replies, headers = append(replies, p), append(headers, h)
	}
}

// do sends a request and returns the reply's payload; an error comes back as
// "!" and its name.
func (c *client) do(typ, tx uint32, payload string) string {
	c.t.Helper()
	c.nextID++
	c.s.locked(func() {
		c.c.handle(header{typ: typ, reqID: c.nextID, txID: tx, size: uint32(len(payload))}, []byte(payload))
	})
	replies, headers := c.collect()
	if len(replies) != 1 {
		c.t.Fatalf("%d replies", len(replies))
	}
	h := headers[0]
	if h.reqID != c.nextID || h.txID != tx {
		c.t.Fatalf("reply %+v to request %d in transaction %d", h, c.nextID, tx)
	}
	if h.typ == abi.XSError {
		name, ok := strings.CutSuffix(replies[0], "\x00")
		if !ok || !strings.HasPrefix(name, "E") {
			c.t.Fatalf("error payload %q", replies[0])
		}
		return "!" + name
	}
	if h.typ != typ {
		c.t.Fatalf("reply of type %d to %d", h.typ, typ)
	}
	return replies[0]
}

func (c *client) want(typ, tx uint32, payload, want string) {
	c.t.Helper()
	if got := c.do(typ, tx, payload); got != want {
		c.t.Errorf("request %d %.60q in %d: %.60q, want %.60q", typ, payload, tx, got, want)
	}
}

// wantEvents checks and forgets the events so far.
func (c *client) wantEvents(want ...string) {
	c.t.Helper()
	c.collect()
	if strings.Join(c.events, "|") != strings.Join(want, "|") {
		c.t.Errorf("events %q, want %q", c.events, want)
	}
	c.events = nil
}

// begin starts a transaction.
func (c *client) begin() uint32 {
	c.t.Helper()
	id := uint32(0)
	for _, d := range strings.TrimSuffix(c.do(abi.XSTransactionStart, 0, nul("")), "\x00") {
		if d < '0' || d > '9' {
			c.t.Fatalf("transaction id has %q", d)
		}
		id = id*10 + uint32(d-'0')
	}
	return id
}

const ok = "OK\x00"
