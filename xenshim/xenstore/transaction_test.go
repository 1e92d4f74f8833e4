// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"errors"
	"fmt"
	"testing"

	"xenvmm/xenshim/abi"
)

func TestTransactionIsIsolatedUntilItsEnd(t *testing.T) {
	s := newStore(t, Quotas{})
	a, b := newClient(t, s, guestDom), newClient(t, s, guestDom)
	b.want(abi.XSWatch, 0, nul("data", "w"), ok)
	b.wantEvents("data w")
	id := a.begin()
	a.want(abi.XSWrite, id, nul("data/x/y")+"1", ok)
	a.want(abi.XSWrite, id, nul("data/x/y")+"2", ok)
	a.want(abi.XSRead, id, nul("data/x/y"), "2")
	a.want(abi.XSDirectory, id, nul("data"), nul("x"))
	a.want(abi.XSRead, 0, nul("data/x/y"), "!ENOENT")
	b.want(abi.XSDirectory, 0, nul("data"), "")
	b.wantEvents()
	a.want(abi.XSTransactionStart, id, nul(""), "!EBUSY")
	a.want(abi.XSTransactionEnd, id, nul("maybe"), "!EINVAL")
	a.want(abi.XSTransactionEnd, id, nul("T"), ok)
	a.want(abi.XSTransactionEnd, id, nul("T"), "!ENOENT")
	b.wantEvents("data/x/y w")
	b.want(abi.XSRead, 0, nul("data/x/y"), "2")

	id = a.begin()
	a.want(abi.XSRm, id, nul("data/x"), ok)
	a.want(abi.XSRead, id, nul("data/x/y"), "!ENOENT")
	a.want(abi.XSTransactionEnd, id, nul("F"), ok)
	b.want(abi.XSRead, 0, nul("data/x/y"), "2")
	b.wantEvents()
}

func TestConflicts(t *testing.T) {
	for _, c := range []struct {
		name     string
		inside   [2]any // request in the transaction
		outside  [2]any
		conflict bool
	}{
		{"read, then written", [2]any{abi.XSRead, nul("data/a")}, [2]any{abi.XSWrite, nul("data/a") + "9"}, true},
		{"written, then written", [2]any{abi.XSWrite, nul("data/a") + "1"}, [2]any{abi.XSWrite, nul("data/a") + "9"}, true},
		{"read, then removed", [2]any{abi.XSRead, nul("data/a")}, [2]any{abi.XSRm, nul("data/a")}, true},
		{"absent, then made", [2]any{abi.XSRead, nul("data/n")}, [2]any{abi.XSMkdir, nul("data/n")}, true},
		{"listed, then added to", [2]any{abi.XSDirectory, nul("data")}, [2]any{abi.XSMkdir, nul("data/n")}, true},
		{"read, permissions changed", [2]any{abi.XSRead, nul("data/a")}, [2]any{abi.XSSetPerms, nul("data/a", "r1")}, true},
		{"removed, child added", [2]any{abi.XSRm, nul("data/a")}, [2]any{abi.XSMkdir, nul("data/a/n")}, true},
		{"other nodes", [2]any{abi.XSWrite, nul("data/a") + "1"}, [2]any{abi.XSWrite, nul("data/b") + "9"}, false},
		{"read by others", [2]any{abi.XSWrite, nul("data/a") + "1"}, [2]any{abi.XSRead, nul("data/a")}, false},
	} {
		s := newStore(t, Quotas{})
		a, b := newClient(t, s, guestDom), newClient(t, s, guestDom)
		a.want(abi.XSWrite, 0, nul("data/a")+"0", ok)
		a.want(abi.XSWrite, 0, nul("data/b")+"0", ok)
		id := a.begin()
		a.do(uint32(c.inside[0].(int)), id, c.inside[1].(string))
		b.do(uint32(c.outside[0].(int)), 0, c.outside[1].(string))
		want := ok
		if c.conflict {
			want = "!EAGAIN"
		}
		if got := a.do(abi.XSTransactionEnd, id, nul("T")); got != want {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}

// What others do meanwhile must not show through, lest a path exist without
// its parent: removing such a one has crashed.
func TestTransactionSeesTheTreeOfItsStart(t *testing.T) {
	s := newStore(t, Quotas{})
	c := newClient(t, s, guestDom)
	c.want(abi.XSWrite, 0, nul("data/gone/x")+"1", ok)
	id := c.begin()
	c.want(abi.XSRead, id, nul("data/a"), "!ENOENT")
	c.want(abi.XSMkdir, 0, nul("data/a/b"), ok)
	c.want(abi.XSRm, 0, nul("data/gone"), ok)
	c.want(abi.XSRead, id, nul("data/a/b"), "!ENOENT")
	c.want(abi.XSRead, id, nul("data/gone/x"), "1")
	c.want(abi.XSRm, id, nul("data/a/b"), "!ENOENT")
	c.want(abi.XSRm, id, nul("data/gone"), ok)
	c.want(abi.XSTransactionEnd, id, nul("T"), "!EAGAIN")
	if len(s.open) != 0 {
		t.Errorf("%d transactions open", len(s.open))
	}
}

// A transaction left open must not make the store keep all that ever was.
func TestOpenTransactionKeepsLittle(t *testing.T) {
	s := newStore(t, Quotas{TransactionNodes: 100})
	c := newClient(t, s, guestDom)
	id := c.begin()
	for i := range 1000 {
		path := nul(fmt.Sprint("data/", i))
		c.want(abi.XSMkdir, 0, path, ok)
		c.want(abi.XSRm, 0, path, ok)
	}
	if n := len(c.c.open[id].past); n > 100 {
		t.Errorf("%d old versions kept", n)
	}
	c.want(abi.XSRead, id, nul("data"), "!EAGAIN")
	c.want(abi.XSTransactionEnd, id, nul("T"), "!EAGAIN")
}

func TestReadsRepeatWithinATransaction(t *testing.T) {
	s := newStore(t, Quotas{})
	c := newClient(t, s, guestDom)
	c.want(abi.XSWrite, 0, nul("data/a")+"0", ok)
	id := c.begin()
	c.want(abi.XSRead, id, nul("data/a"), "0")
	if err := s.Write("/local/domain/1/data/a", "1"); err != nil {
		t.Fatal(err)
	}
	c.want(abi.XSRead, id, nul("data/a"), "0")
	c.want(abi.XSTransactionEnd, id, nul("F"), ok)
}

func TestUpdateIsAllOrNothing(t *testing.T) {
	s := newStore(t, Quotas{})
	c := newClient(t, s, guestDom)
	c.want(abi.XSWatch, 0, nul("data", "w"), ok)
	c.wantEvents("data w")
	fail := errors.New("no")
	err := s.Update(func(tx *Tx) error {
		if err := tx.Write("/local/domain/1/data/a", "1"); err != nil {
			return err
		}
		if v, err := tx.Read("/local/domain/1/data/a"); v != "1" || err != nil {
			t.Errorf("%q, %v", v, err)
		}
		return fail
	})
	if !errors.Is(err, fail) {
		t.Fatal(err)
	}
	if _, err := s.Read("/local/domain/1/data/a"); !errors.Is(err, abi.ENOENT) {
		t.Errorf("after a failed update: %v", err)
	}
	c.wantEvents()
}
