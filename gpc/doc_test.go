// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestTheContractNamesTestsThatExist(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(b)
	}
	names := regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w+`).FindAllString(string(doc), -1)
	if len(names) < 20 {
		t.Fatalf("only %d names found", len(names))
	}
	for _, name := range names {
		if !strings.Contains(tests.String(), "func "+name+"(") {
			t.Errorf("doc.go names %s, which does not exist", name)
		}
	}
}
