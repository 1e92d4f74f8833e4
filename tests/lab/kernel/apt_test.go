// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"slices"
	"strings"
	"testing"
)

func TestPackageNamesOfEachHost(t *testing.T) {
	names := []string{
		"linux-image-6.12.117+deb12-amd64", "linux-image-6.12.99+deb12-amd64", "linux-image-6.12.63+deb13-amd64",
		"linux-image-6.12.9-amd64", "linux-image-6.12-amd64",
		"linux-image-6.12.117+deb12-cloud-amd64", "linux-image-6.12.117+deb12-rt-amd64", "linux-image-6.12.117+deb12-amd64-unsigned",
		"linux-image-6.12.117+deb12-amd64-dbg", "linux-image-6.1.0-57-amd64", "linux-image-6.1.0-9-amd64", "linux-image-amd64",
		"linux-image-6.12.9+deb12-rt-amd64", "linux-image-6.12-rt-amd64-dbg", "linux-image-6.1.0-57-cloud-amd64", "linux-image-6.1.0-57-rt-amd64",
		"linux-image-6.1.0-57-cloud-amd64-unsigned", "linux-image-6.12.20+deb12-cloud-amd64",
	}
	for host, want := range map[string]string{
		Default: names[0], "debian-6.1": "linux-image-6.1.0-57-amd64", "debian-6.12-rt": "linux-image-6.12.117+deb12-rt-amd64",
		"debian-6.12-cloud": "linux-image-6.12.117+deb12-cloud-amd64", "debian-6.1-cloud": "linux-image-6.1.0-57-cloud-amd64",
	} {
		spec, err := Find(host)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range names {
			if spec.Package.MatchString(n) {
				got = append(got, n)
			}
		}
		slices.SortFunc(got, func(a, b string) int {
			if versionLess(b, a) {
				return -1
			}
			return 1
		})
		if len(got) == 0 || got[0] != want {
			t.Errorf("%s: newest of %q, want %s", host, got, want)
		}
		for _, n := range got {
			flavour := strings.TrimLeft(strings.TrimPrefix(host, "debian-"), "0123456789.")
			if strings.Contains(n, "cloud") != (flavour == "-cloud") || strings.Contains(n, "rt") != (flavour == "-rt") || strings.Contains(n, "unsigned") || strings.Contains(n, "dbg") {
				t.Errorf("%s takes %s", host, n)
			}
		}
	}
	if _, err := Find("debian-2"); err == nil || !strings.Contains(err.Error(), Default) {
		t.Errorf("unknown host: %v, want the known ones named", err)
	}
}

func TestFieldsOfAPackage(t *testing.T) {
	const p = "Package: x\nVersion: 1:2-3\nDescription: a\n Version: no\nSHA256: ab\n"
	if field(p, "Version") != "1:2-3" || field(p, "SHA256") != "ab" || field(p, "Size") != "" {
		t.Error("fields are misread")
	}
}

func TestErrorsHideTheArchive(t *testing.T) {
	_, err := run(t.Context(), "", "sh", "-c", "echo E: Failed to fetch https://user:secret@host.example/x/y.deb 404 >&2; exit 100")
	if err == nil || strings.Contains(strings.TrimPrefix(err.Error(), "sh -c"), "404") == false {
		t.Fatalf("error %v, want the message in it", err)
	}
	if _, msg, _ := strings.Cut(err.Error(), "exit status"); strings.Contains(msg, "secret") {
		t.Errorf("the archive's address is in %q", msg)
	}
}
