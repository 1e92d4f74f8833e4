// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"fmt"
	"strings"
	"testing"

	"xenvmm/xenshim/abi"
)

func TestRequests(t *testing.T) {
	s := newStore(t, Quotas{})
	c := newClient(t, s, guestDom)
	if err := s.Write("/secret/x", "1"); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a", 2048)
	for _, r := range []struct {
		typ     uint32
		payload string
		want    string
	}{
		{abi.XSRead, nul("data"), ""},
		{abi.XSRead, nul("/local/domain/1/data"), ""},
		{abi.XSRead, nul("data/none"), "!ENOENT"},
		{abi.XSRead, nul("/secret/x"), "!EACCES"},
		{abi.XSRead, nul("/secret/none"), "!EACCES"}, // not told whether it exists
		{abi.XSRead, nul("/"), "!EACCES"},
		{abi.XSRead, "data", "!EINVAL"},
		{abi.XSRead, "", "!EINVAL"},
		{abi.XSRead, nul(""), "!EINVAL"},
		{abi.XSRead, nul("data", "more"), "!EINVAL"},
		{abi.XSRead, nul("data/"), "!EINVAL"},
		{abi.XSRead, nul("data//x"), "!EINVAL"},
		{abi.XSRead, nul("da ta"), "!EINVAL"},
		{abi.XSRead, nul("da\xffta"), "!EINVAL"},
		{abi.XSRead, nul("../x"), "!EINVAL"},
		{abi.XSRead, nul(long), "!ENOENT"},
		{abi.XSRead, nul(long + "a"), "!EINVAL"},
		{abi.XSRead, nul("/" + long + strings.Repeat("a", 1024)), "!EINVAL"},
		{abi.XSRead, nul("@releaseDomain"), "!ENOENT"},

		{abi.XSWrite, nul("data/a") + "v\x00w", ok},
		{abi.XSRead, nul("data/a"), "v\x00w"},
		{abi.XSWrite, nul("data/b/c/d"), ok},
		{abi.XSDirectory, nul("data/b"), nul("c")},
		{abi.XSDirectory, nul("data"), nul("a", "b")},
		{abi.XSDirectory, nul("data/a"), ""},
		{abi.XSWrite, "data/e", "!EINVAL"},
		{abi.XSWrite, nul("name") + "x", "!EACCES"},
		{abi.XSWrite, nul("data/big") + strings.Repeat("x", 2048), ok},
		{abi.XSWrite, nul("data/big") + strings.Repeat("x", 2049), "!ENOSPC"},
		{abi.XSRm, nul("data/big"), ok},
		{abi.XSRm, nul("data/big"), ok},
		{abi.XSRm, nul("data/big/deeper"), "!ENOENT"},
		{abi.XSRm, nul("/local/domain/1"), "!EACCES"},
		{abi.XSRm, nul("/"), "!EACCES"},
		{abi.XSMkdir, nul("data/a"), ok},
		{abi.XSRead, nul("data/a"), "v\x00w"},
		{abi.XSMkdir, nul("data/m/n"), ok},
		{abi.XSDirectory, nul("data"), nul("a", "b", "m")},
		{abi.XSRm, nul("data/b"), ok},
		{abi.XSRead, nul("data/b/c/d"), "!ENOENT"},
		{abi.XSDirectory, nul("data"), nul("a", "m")},

		{abi.XSGetPerms, nul("data"), nul("n1")},
		{abi.XSGetPerms, nul("/local/domain/1"), nul("n0", "r1")},
		{abi.XSGetPerms, nul("@releaseDomain"), "!EACCES"},
		{abi.XSSetPerms, nul("data/a", "r1", "b2", "w3", "n4"), ok},
		{abi.XSGetPerms, nul("data/a"), nul("r1", "b2", "w3", "n4")},
		{abi.XSSetPerms, nul("data/a", "r2"), "!EPERM"},
		{abi.XSSetPerms, nul("data/a"), "!EINVAL"},
		{abi.XSSetPerms, nul("data/a", "x1"), "!EINVAL"},
		{abi.XSSetPerms, nul("data/a", "r"), "!EINVAL"},
		{abi.XSSetPerms, nul("data/a", "r-1"), "!EINVAL"},
		{abi.XSSetPerms, nul("data/a", "r65536"), "!EINVAL"},
		{abi.XSSetPerms, nul("data/a", "n1", "r2", "r3", "r4", "r5", "r6"), "!ENOSPC"},
		{abi.XSSetPerms, nul("/local/domain/1", "n1"), "!EACCES"},
		{abi.XSSetPerms, nul("@releaseDomain", "n1"), "!EACCES"},

		{abi.XSGetDomainPath, nul("7"), nul("/local/domain/7")},
		{abi.XSGetDomainPath, nul("007"), nul("/local/domain/7")},
		{abi.XSGetDomainPath, nul("x"), "!EINVAL"},
		{abi.XSGetDomainPath, "7", "!EINVAL"},
		{abi.XSIsDomainIntroduced, nul("0"), nul("T")},
		{abi.XSIsDomainIntroduced, nul("1"), nul("F")}, // no ring here
		{abi.XSIsDomainIntroduced, nul("32752"), nul("T")},
		{abi.XSIsDomainIntroduced, nul("2"), nul("F")},
		{abi.XSIsDomainIntroduced, "", "!EINVAL"},

		{abi.XSControl, nul("help"), "!EACCES"},
		{abi.XSIntroduce, nul("2", "1", "1"), "!EACCES"},
		{abi.XSRelease, nul("1"), "!EACCES"},
		{abi.XSResume, nul("1"), "!EACCES"},
		{abi.XSSetTarget, nul("1", "2"), "!EACCES"},
		{20, "", "!ENOSYS"},
		{abi.XSWatchEvent, "", "!ENOSYS"},
		{abi.XSError, "", "!ENOSYS"},
		{23, "", "!ENOSYS"},
		{0xffff, "", "!ENOSYS"},
		{1<<32 - 1, "", "!ENOSYS"},
		{abi.XSTransactionEnd, nul("T"), "!ENOENT"},
		{abi.XSTransactionEnd, nul("X"), "!EINVAL"},
		{abi.XSTransactionEnd, "T", "!EINVAL"},
		{abi.XSResetWatches, nul(""), ok},
		{abi.XSResetWatches, "", ok},
	} {
		c.want(r.typ, 0, r.payload, r.want)
	}
	for typ := range uint32(30) {
		switch typ {
		case abi.XSWatch, abi.XSUnwatch, abi.XSResetWatches, abi.XSControl, abi.XSIntroduce,
			abi.XSRelease, abi.XSResume, abi.XSSetTarget, abi.XSError, abi.XSWatchEvent, 20:
			continue // don't look at the transaction
		}
		if typ <= abi.XSDirectoryPart {
			c.want(typ, 5, nul("data"), "!ENOENT")
		}
	}
}

func TestWritersMayBeDeniedReading(t *testing.T) {
	s := newStore(t, Quotas{})
	c := newClient(t, s, guestDom)
	if err := s.Write("/shared/box", "x"); err != nil {
		t.Fatal(err)
	}
	if err := s.SetPerms("/shared/box", Perm{0, None}, Perm{guestDom, Write}); err != nil {
		t.Fatal(err)
	}
	c.want(abi.XSRead, 0, nul("/shared/box"), "!EACCES")
	c.want(abi.XSWrite, 0, nul("/shared/box")+"y", ok)
	c.want(abi.XSWrite, 0, nul("/shared/box/sub")+"z", ok)
	c.want(abi.XSGetPerms, 0, nul("/shared/box/sub"), nul("n1", "w1")) // owner from who made it
	c.want(abi.XSSetPerms, 0, nul("/shared/box", "n1"), "!EACCES")
	c.want(abi.XSWrite, 0, nul("/shared/other")+"y", "!EACCES")
}

func TestDomainsAreSeparate(t *testing.T) {
	s := newStore(t, Quotas{})
	a, b := newClient(t, s, guestDom), newClient(t, s, 2)
	a.want(abi.XSWrite, 0, nul("data/x")+"mine", ok)
	b.want(abi.XSRead, 0, nul("/local/domain/1/data/x"), "!EACCES")
	b.want(abi.XSWrite, 0, nul("/local/domain/1/data/x")+"z", "!EACCES")
	b.want(abi.XSDirectory, 0, nul("/local/domain/1/data"), "!EACCES")
	b.want(abi.XSWatch, 0, nul("/local/domain/1/data", "t"), ok)
	b.wantEvents("/local/domain/1/data t") // the first one, which says nothing
	a.want(abi.XSWrite, 0, nul("data/x")+"again", ok)
	b.wantEvents()
	a.want(abi.XSSetPerms, 0, nul("data/x", "n1", "r2"), ok)
	b.wantEvents("/local/domain/1/data/x t")
	b.want(abi.XSRead, 0, nul("/local/domain/1/data/x"), "again")
	a.want(abi.XSRm, 0, nul("data/x"), ok)
	b.wantEvents("/local/domain/1/data/x t") // it could read what was removed
	// A transaction belongs to its connection.
	id := a.begin()
	b.want(abi.XSTransactionEnd, id, nul("T"), "!ENOENT")
	a.want(abi.XSTransactionEnd, id, nul("T"), ok)
}

func TestLongDirectories(t *testing.T) {
	s := newStore(t, Quotas{})
	c := newClient(t, s, guestDom)
	var list strings.Builder
	for i := range 900 {
		name := fmt.Sprintf("child-%04d", i)
		list.WriteString(name + "\x00")
		c.want(abi.XSWrite, 0, nul("data/dir/"+name), ok)
	}
	c.want(abi.XSDirectory, 0, nul("data/dir"), "!E2BIG")
	var got strings.Builder
	gen := ""
	for {
		r := c.do(abi.XSDirectoryPart, 0, nul("data/dir", fmt.Sprint(got.Len())))
		g, rest, found := strings.Cut(r, "\x00")
		if !found || (gen != "" && gen != g) {
			t.Fatalf("generation %q after %q", g, gen)
		}
		gen = g
		if strings.HasSuffix(rest, "\x00\x00") || rest == "\x00" {
			got.WriteString(rest[:len(rest)-1])
			break
		}
		if !strings.HasSuffix(rest, "\x00") || len(rest) < 2000 {
			t.Fatalf("part of %d bytes", len(rest))
		}
		got.WriteString(rest)
	}
	if got.String() != list.String() {
		t.Fatal("parts don't make the list")
	}
	c.want(abi.XSDirectoryPart, 0, nul("data/dir", "100000"), nul(gen, ""))
	c.want(abi.XSDirectoryPart, 0, nul("data/none", "0"), "!ENOENT")
	c.want(abi.XSDirectoryPart, 0, nul("data/dir", "-1"), "!EINVAL")
	c.want(abi.XSDirectoryPart, 0, nul("data/dir"), "!EINVAL")
	c.want(abi.XSRm, 0, nul("data/dir/child-0000"), ok)
	if r := c.do(abi.XSDirectoryPart, 0, nul("data/dir", "0")); strings.HasPrefix(r, gen+"\x00") {
		t.Error("generation didn't change with the directory")
	}
}
