// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"os"
	"testing"
)

func TestInside(t *testing.T) {
	if os.Getenv("XENVMM_IN_LAB") != "1" {
		t.Fatal("not in the lab")
	}
	if _, err := os.Stat("/dev/kvm"); err != nil {
		t.Error(err)
	}
	if got, err := Text("testdata/text"); err != nil || got != "from the host\n" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Text("sample.go"); err != nil {
		t.Error(err)
	}
}
