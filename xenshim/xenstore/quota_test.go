// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"fmt"
	"strings"
	"testing"

	"xenvmm/xenshim/abi"
)

// fill creates nodes until one fails, and returns how many fit.
func fill(c *client, tx uint32, dir string) int {
	for i := 0; ; i++ {
		switch r := c.do(abi.XSWrite, tx, nul(fmt.Sprint(dir, "/", i))+"v"); r {
		case ok:
		case "!ENOSPC":
			return i
		default:
			c.t.Fatal(r)
		}
	}
}

// XSA-483: what a released domain used is free again.
func TestNodeQuotaIsReleasedAtReset(t *testing.T) {
	s := newStore(t, Quotas{Nodes: 50})
	for range 3 {
		c := newClient(t, s, guestDom)
		if n := fill(c, 0, "data"); n != 49 { // data itself is the guest's
			t.Fatalf("%d nodes fit", n)
		}
		c.want(abi.XSWrite, 0, nul("data/0")+"changed", ok)
		c.want(abi.XSRm, 0, nul("data/0"), ok)
		c.want(abi.XSMkdir, 0, nul("data/a/b"), "!ENOSPC")
		c.want(abi.XSMkdir, 0, nul("data/a"), ok)
		c.want(abi.XSMkdir, 0, nul("data/b"), "!ENOSPC")
		s.ReleaseDomain()
		if n := s.owners[guestDom]; n != 0 {
			t.Fatalf("%d nodes counted after release", n)
		}
		if err := s.Mkdir("/local/domain/1/data"); err != nil {
			t.Fatal(err)
		}
		if err := s.SetPerms("/local/domain/1/data", Perm{guestDom, None}); err != nil {
			t.Fatal(err)
		}
		s.disconnect(c.c)
	}
}

func TestOwnerCountsFollowTheTree(t *testing.T) {
	s := newStore(t, Quotas{})
	c := newClient(t, s, guestDom)
	c.want(abi.XSMkdir, 0, nul("data/a/b/c"), ok)
	if err := s.SetPerms("/local/domain/1/data/a/b", Perm{0, None}); err != nil {
		t.Fatal(err)
	}
	if s.owners[guestDom] != 3 {
		t.Errorf("%d nodes", s.owners[guestDom])
	}
	c.want(abi.XSRm, 0, nul("data/a"), ok)
	if s.owners[guestDom] != 1 {
		t.Errorf("%d nodes", s.owners[guestDom])
	}
}

func TestWatchAndTransactionQuotas(t *testing.T) {
	s := newStore(t, Quotas{Watches: 5, Transactions: 3})
	c := newClient(t, s, guestDom)
	for range 3 {
		for i := range 5 {
			c.want(abi.XSWatch, 0, nul("data", fmt.Sprint(i)), ok)
		}
		c.want(abi.XSWatch, 0, nul("data", "one too many"), "!E2BIG")
		ids := map[uint32]bool{c.begin(): true, c.begin(): true, c.begin(): true}
		if len(ids) != 3 || ids[0] {
			t.Fatalf("ids %v", ids)
		}
		c.want(abi.XSTransactionStart, 0, nul(""), "!ENOSPC")
		c.want(abi.XSResetWatches, 0, nul(""), ok)
	}
}

func TestTransactionQuotas(t *testing.T) {
	s := newStore(t, Quotas{TransactionNodes: 20, Nodes: 30})
	c := newClient(t, s, guestDom)
	id := c.begin()
	if n := fill(c, id, "data"); n == 0 || n > 20 {
		t.Errorf("%d nodes fit into a transaction of 20 paths", n)
	}
	c.want(abi.XSRead, id, nul("data"), "!ENOSPC") // it is beyond use
	c.want(abi.XSTransactionEnd, id, nul("T"), "!ENOSPC")
	c.want(abi.XSDirectory, 0, nul("data"), "")

	// Reading counts as well.
	id = c.begin()
	for i := range 100 {
		c.do(abi.XSRead, id, nul(fmt.Sprint("data/", i)))
	}
	c.want(abi.XSTransactionEnd, id, nul("T"), "!ENOSPC")

	// Many small transactions together can't exceed the nodes.
	a, b := c.begin(), c.begin()
	for i := range 14 {
		c.want(abi.XSWrite, a, nul(fmt.Sprint("data/a", i)), ok)
	}
	c.want(abi.XSTransactionEnd, a, nul("T"), ok)
	if err := s.Mkdir("/local/domain/1/data/dir"); err != nil { // the guest's, by its parent
		t.Fatal(err)
	}
	c.want(abi.XSTransactionEnd, b, nul("T"), ok)
	a, b = c.begin(), c.begin()
	for i := range 8 {
		c.want(abi.XSWrite, a, nul(fmt.Sprint("data/a0/", i)), ok)
		c.want(abi.XSWrite, b, nul(fmt.Sprint("data/a1/", i)), ok)
	}
	c.want(abi.XSTransactionEnd, a, nul("T"), ok)
	c.want(abi.XSTransactionEnd, b, nul("T"), "!ENOSPC")
}

func TestTransactionBytes(t *testing.T) {
	s := newStore(t, Quotas{TransactionBytes: 10_000})
	c := newClient(t, s, guestDom)
	id := c.begin()
	for range 1000 { // the same node again and again keeps one version
		c.want(abi.XSWrite, id, nul("data/a")+strings.Repeat("x", 2000), ok)
	}
	c.want(abi.XSTransactionEnd, id, nul("T"), ok)
	id = c.begin()
	for i := range 10 {
		c.do(abi.XSWrite, id, nul(fmt.Sprint("data/", i))+strings.Repeat("x", 2000))
	}
	if got := c.c.open[id].size; got > 15_000 {
		t.Errorf("transaction keeps %d bytes", got)
	}
	c.want(abi.XSTransactionEnd, id, nul("T"), "!ENOSPC")
}
