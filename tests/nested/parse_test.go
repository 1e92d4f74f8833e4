// SPDX-License-Identifier: Apache-2.0

package nested

import (
	"strings"
	"testing"
)

// TestVerdictsAreReadFromEvents: a failure of any kind must come through.
func TestVerdictsAreReadFromEvents(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"pass":             {`{"Action":"pass","Package":"p","Test":"TestA","Elapsed":1}`, "p TestA pass"},
		"a package passes": {`{"Action":"pass","Package":"p"}`, ""},
		"fail":             {`{"Action":"fail","Package":"p","Test":"TestA"}`, "p TestA fail"},
		"a subtest":        {`{"Action":"fail","Package":"p","Test":"TestA/b"}` + "\n" + `{"Action":"fail","Package":"p","Test":"TestA"}`, "p TestA fail"},
		"skip":             {`{"Action":"skip","Package":"p","Test":"TestA"}`, "p TestA skip"},
		"outside of tests": {"no host\n" + `{"Action":"output","Package":"p","Output":"exit status 125\n"}` + "\n" + `{"Action":"fail","Package":"p"}`, "p  fail no host exit status 125"},
		"does not compile": {`{"Action":"build-output","Output":"x.go:1: no\n"}` + "\n" + `{"Action":"build-fail"}`, "  fail x.go:1: no"},
		"cut off":          {`{"Action":"run","Package":"p","Test":"TestA"}`, "p TestA fail (cut off)"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			if err := results(strings.NewReader(c.in), func(r result) {
				got = append(got, strings.TrimSpace(r.pkg+" "+r.test+" "+r.action+" "+strings.Join(strings.Fields(r.output), " ")))
			}); err != nil {
				t.Fatal(err)
			}
			if s := strings.Join(got, "; "); s != strings.TrimSpace(c.want) {
				t.Errorf("%q, want %q", s, c.want)
			}
		})
	}
}

func TestReasonOfASkipIsTheLastThingSaid(t *testing.T) {
	in := `{"Action":"output","Package":"p","Test":"TestA/b","Output":"=== RUN TestA/b\n"}
{"Action":"output","Package":"p","Test":"TestA/b","Output":"    x_test.go:1: no KVM\n"}
{"Action":"output","Package":"p","Test":"TestA/b","Output":"--- SKIP: TestA/b\n"}
{"Action":"skip","Package":"p","Test":"TestA/b"}
{"Action":"pass","Package":"p","Test":"TestA"}`
	var got result
	if err := results(strings.NewReader(in), func(r result) { got = r }); err != nil {
		t.Fatal(err)
	}
	if got.action != "pass" || got.skipped["TestA/b"] != "x_test.go:1: no KVM" {
		t.Errorf("%+v", got)
	}
}
