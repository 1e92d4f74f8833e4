// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"fmt"
	"strings"
	"testing"

	"xenvmm/xenshim/abi"
)

func TestWatches(t *testing.T) {
	s := newStore(t, Quotas{})
	c := newClient(t, s, guestDom)
	c.want(abi.XSWatch, 0, nul("data", "rel"), ok)
	c.want(abi.XSWatch, 0, nul("/local/domain/1/data/a/b", "abs"), ok)
	c.want(abi.XSWatch, 0, nul("data/none/x", "n"), ok)
	c.wantEvents("data rel", "/local/domain/1/data/a/b abs", "data/none/x n")

	c.want(abi.XSWrite, 0, nul("data/a/b/c")+"1", ok)
	c.wantEvents("data/a/b/c rel", "/local/domain/1/data/a/b/c abs")
	c.want(abi.XSMkdir, 0, nul("data/a"), ok) // exists: no change
	c.wantEvents()
	c.want(abi.XSMkdir, 0, nul("data/m"), ok)
	c.wantEvents("data/m rel")
	c.want(abi.XSSetPerms, 0, nul("data/m", "r1"), ok)
	c.wantEvents("data/m rel")
	c.want(abi.XSRead, 0, nul("data/m"), "")
	c.wantEvents()
	// Removing a directory tells watches below it with their own path.
	c.want(abi.XSRm, 0, nul("data/a"), ok)
	c.wantEvents("data/a rel", "/local/domain/1/data/a/b abs")
	c.want(abi.XSRm, 0, nul("data/a"), ok)
	c.wantEvents()
	if err := s.Write("/local/domain/1/data/host", "x"); err != nil {
		t.Fatal(err)
	}
	c.wantEvents("data/host rel")
	if err := s.Write("/local/domain/1/database", "x"); err != nil {
		t.Fatal(err)
	}
	c.wantEvents() // a prefix that isn't a parent

	c.want(abi.XSWatch, 0, nul("data", "rel"), "!EEXIST")
	c.want(abi.XSWatch, 0, nul("/local/domain/1/data", "rel"), "!EEXIST")
	c.want(abi.XSWatch, 0, nul("data", "other"), ok)
	c.wantEvents("data other")
	c.want(abi.XSWrite, 0, nul("data/z"), ok)
	c.wantEvents("data/z rel", "data/z other")
	c.want(abi.XSUnwatch, 0, nul("data", "rel"), ok)
	c.want(abi.XSUnwatch, 0, nul("data", "rel"), "!ENOENT")
	c.want(abi.XSUnwatch, 0, nul("/local/domain/1/data", "other"), ok)
	c.want(abi.XSUnwatch, 0, nul("data"), "!EINVAL")
	c.want(abi.XSUnwatch, 0, nul("da//ta", "x"), "!EINVAL")
	c.want(abi.XSWrite, 0, nul("data/z"), ok)
	c.wantEvents()
	c.want(abi.XSWatch, 7, nul("data", "tx"), ok) // the transaction is ignored
	c.wantEvents("data tx")
	c.want(abi.XSWatch, 0, nul("data"), "!EINVAL")
	c.want(abi.XSWatch, 0, nul("data/", "t"), "!EINVAL")
	c.want(abi.XSWatch, 0, "", "!EINVAL")
}

func TestWatchDepth(t *testing.T) {
	s := newStore(t, Quotas{})
	c := newClient(t, s, guestDom)
	for _, d := range []string{"0", "1", "2", ""} {
		c.want(abi.XSWatch, 0, nul("data", "t"+d, d), ok)
	}
	c.want(abi.XSWatch, 0, nul("data", "bad", "x"), "!EINVAL")
	c.want(abi.XSWatch, 0, nul("data", "bad", "-1"), "!EINVAL")
	c.wantEvents("data t0", "data t1", "data t2", "data t")
	c.want(abi.XSWrite, 0, nul("data")+"v", ok)
	c.wantEvents("data t0", "data t1", "data t2", "data t")
	c.want(abi.XSWrite, 0, nul("data/1")+"v", ok)
	c.wantEvents("data/1 t1", "data/1 t2", "data/1 t")
	c.want(abi.XSWrite, 0, nul("data/1/2")+"v", ok)
	c.wantEvents("data/1/2 t2", "data/1/2 t")
	c.want(abi.XSWrite, 0, nul("data/1/2/3")+"v", ok)
	c.wantEvents("data/1/2/3 t")
}

func TestSpecialWatches(t *testing.T) {
	s := newStore(t, Quotas{})
	c := newClient(t, s, guestDom)
	c.want(abi.XSWatch, 0, nul("@releaseDomain", "r"), ok)
	c.want(abi.XSWatch, 0, nul("@introduceDomain", "i"), ok)
	c.want(abi.XSWatch, 0, nul("@", "x"), "!EINVAL")
	c.want(abi.XSWatch, 0, nul("@a b", "x"), "!EINVAL")
	c.wantEvents("@releaseDomain r", "@introduceDomain i")
	c.want(abi.XSUnwatch, 0, nul("@introduceDomain", "i"), ok)
	kicks := make(chan struct{}, 10)
	h, err := s.Watch("@releaseDomain", func() { kicks <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	<-kicks
	if got := fmt.Sprint(h.Changed()); got != "[@releaseDomain]" {
		t.Fatal(got)
	}
	s.setIntroduced(true)
	c.want(abi.XSIsDomainIntroduced, 0, nul("1"), nul("T"))
	s.setIntroduced(false)
	<-kicks
	if got := fmt.Sprint(h.Changed()); got != "[@releaseDomain]" {
		t.Fatal(got)
	}
	c.wantEvents() // a guest learns nothing about others
}

// XSA-324: no event may exceed the payload limit.
func TestEventsStayWithinThePayload(t *testing.T) {
	s := newStore(t, Quotas{})
	c := newClient(t, s, guestDom)
	home := len("/local/domain/1/")
	// A relative path shows at most 3072-home bytes of a node's path.
	fits := strings.Repeat("t", abi.XenstorePayloadMax-2-(abi.XenstoreAbsPathMax-home))
	c.want(abi.XSWatch, 0, nul("data", fits), ok)
	c.want(abi.XSWatch, 0, nul("data", fits+"t"), "!EINVAL")
	c.want(abi.XSWatch, 0, nul("/local/domain/1/data", fits[home:]), ok)
	c.want(abi.XSWatch, 0, nul("/local/domain/1/data", fits), "!EINVAL")
	exact := strings.Repeat("d", abi.XenstorePayloadMax-len("data")-2-2)
	c.want(abi.XSWatch, 0, nul("data", exact, "0"), ok)
	c.want(abi.XSWatch, 0, nul(strings.Repeat("p", 2048), strings.Repeat("t", 2000)), "!EINVAL")
	c.events = nil
	deep := "data/" + strings.Repeat("x", 2048-5)
	c.want(abi.XSWrite, 0, nul(deep), ok)
	abs := "/local/domain/1/data/" + strings.Repeat("y", abi.XenstoreAbsPathMax-len("/local/domain/1/data/"))
	c.want(abi.XSWrite, 0, nul(abs), ok)
	c.collect() // checks the sizes
	if len(c.events) != 4 {
		t.Errorf("%d events", len(c.events))
	}
	c.want(abi.XSRead, 0, nul("data"), "")
}

// XSA-330: watches that were reset leave nothing behind.
func TestResetWatches(t *testing.T) {
	s := newStore(t, Quotas{})
	c := newClient(t, s, guestDom)
	for range 1000 {
		for i := range 100 {
			c.want(abi.XSWatch, 0, nul("data", fmt.Sprint("t", i)), ok)
		}
		id := c.begin()
		c.want(abi.XSResetWatches, 0, nul(""), ok)
		c.want(abi.XSRead, id, nul("data"), "!ENOENT") // transactions ended too
		c.events = nil
		c.want(abi.XSWrite, 0, nul("data")+"v", ok)
		c.wantEvents()
	}
	if n := len(c.c.watches); n != 0 {
		t.Errorf("%d watches left", n)
	}
	if n := len(c.c.queue.events) + len(c.c.open) + cap(c.c.queue.items); n > 128 {
		t.Errorf("%d entries left", n)
	}
}

func TestResetDropsQueuedEventsNotReplies(t *testing.T) {
	s := newStore(t, Quotas{})
	c := newClient(t, s, guestDom)
	for _, r := range []struct {
		typ     uint32
		payload string
	}{{abi.XSWatch, nul("data", "a")}, {abi.XSWrite, nul("data/x")}, {abi.XSResetWatches, ""}, {abi.XSWatch, nul("data", "a")}} {
		s.locked(func() { c.c.handle(header{typ: r.typ, size: uint32(len(r.payload))}, []byte(r.payload)) })
	}
	replies, _ := c.collect()
	if len(replies) != 4 {
		t.Errorf("%d replies", len(replies))
	}
	c.wantEvents("data a")
}

func TestEventsCoarsenWhenNobodyTakesThem(t *testing.T) {
	s := newStore(t, Quotas{Events: 10})
	c := newClient(t, s, guestDom)
	c.want(abi.XSWatch, 0, nul("data", "t"), ok)
	c.want(abi.XSWatch, 0, nul("data", "u"), ok)
	c.events = nil
	for i := range 1000 {
		if err := s.Write(fmt.Sprint("/local/domain/1/data/", i%500), "x"); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(c.c.queue.items) - c.c.queue.head; n != 12 {
		t.Errorf("%d events queued", n)
	}
	c.collect()
	if n := len(c.events); n != 12 || c.events[10] != "data t" || c.events[11] != "data u" {
		t.Errorf("%d events: %q", n, c.events)
	}
	c.events = nil
	c.want(abi.XSWrite, 0, nul("data/1")+"y", ok)
	c.wantEvents("data/1 t", "data/1 u") // fine again once taken
}

func TestHostWatch(t *testing.T) {
	s := newStore(t, Quotas{})
	c := newClient(t, s, guestDom)
	kicks := make(chan struct{}, 10)
	h, err := s.Watch("/local/domain/1/data", func() { kicks <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	<-kicks
	c.want(abi.XSWrite, 0, nul("data/a")+"1", ok)
	<-kicks
	c.want(abi.XSWrite, 0, nul("data/a")+"2", ok)
	<-kicks
	if got := fmt.Sprint(h.Changed()); got != "[/local/domain/1/data /local/domain/1/data/a]" {
		t.Errorf("changed: %v", got)
	}
	h.Close()
	c.want(abi.XSWrite, 0, nul("data/a")+"3", ok)
	if len(kicks) != 0 || len(h.Changed()) != 0 || len(s.conns) != 1 {
		t.Error("a closed watch still works")
	}
	if _, err := s.Watch("no/leading/slash/", nil); err == nil {
		t.Error("bad path accepted")
	}
}
