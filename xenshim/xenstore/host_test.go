// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"xenvmm/xenshim/abi"
)

func TestHostMethods(t *testing.T) {
	s := NewStore(Config{Domain: guestDom})
	if err := s.Write("/a/b", strings.Repeat("x", 4096)); err != nil {
		t.Error(err)
	}
	if err := s.Write("/a/b", strings.Repeat("x", 4097)); !errors.Is(err, abi.E2BIG) {
		t.Errorf("too long a value: %v", err)
	}
	if err := s.Write("relative", ""); !errors.Is(err, abi.EINVAL) {
		t.Errorf("relative path: %v", err)
	}
	if _, err := s.Read("/a/c"); !errors.Is(err, abi.ENOENT) || !strings.Contains(err.Error(), `"/a/c"`) {
		t.Errorf("absent: %v", err)
	}
	if err := s.Mkdir("/a/c"); err != nil {
		t.Error(err)
	}
	if names, err := s.Directory("/a"); err != nil || !slices.Equal(names, []string{"b", "c"}) {
		t.Errorf("%v, %v", names, err)
	}
	if err := s.Rm("/a/b"); err != nil {
		t.Error(err)
	}
	if err := s.Rm("/"); !errors.Is(err, abi.EINVAL) {
		t.Errorf("rm of the root: %v", err)
	}
	if err := s.SetPerms("/a"); !errors.Is(err, abi.EINVAL) {
		t.Errorf("no permissions: %v", err)
	}
	want := []Perm{{3, Read | Write}, {4, None}}
	if err := s.SetPerms("/a", want...); err != nil {
		t.Error(err)
	}
	if p, err := s.GetPerms("/a"); err != nil || !slices.Equal(p, want) {
		t.Errorf("%v, %v", p, err)
	}
	if names, err := s.Directory("/"); err != nil || !slices.Equal(names, []string{"local", "a"}) {
		t.Errorf("%v, %v", names, err)
	}
}

func TestPopulate(t *testing.T) {
	s := NewStore(Config{Domain: guestDom})
	l := Layout{Name: "vm", UUID: "8a1d9b2e-0000-4000-8000-000000000001", VCPUs: 2, StorePort: 1, ConsolePort: 2, StoreGFN: 0xfeff9, ConsoleGFN: 0xfeff8}
	for range 2 { // also over what is there
		if err := Populate(s, l); err != nil {
			t.Fatal(err)
		}
	}
	c := newClient(t, s, guestDom)
	for path, want := range map[string]string{
		"name": "vm", "domid": "1", "vm": "/vm/" + l.UUID, "/vm/" + l.UUID + "/uuid": l.UUID,
		"store/port": "1", "store/ring-ref": "1044473", "console/port": "2", "console/ring-ref": "1044472",
		"console/type": "xenconsoled", "console/limit": "1048576", "control/shutdown": "",
		"control/platform-feature-xs_reset_watches": "1", "cpu/1/availability": "online",
		"memory": "", "memory/target": "!ENOENT", "device": "",
	} {
		c.want(abi.XSRead, 0, nul(path), want)
	}
	for path, want := range map[string]string{
		"control/shutdown": ok, "control/feature-poweroff": ok, "data/x": ok,
		"name": "!EACCES", "device/vbd": "!EACCES", "control/new": "!EACCES", "store/port": "!EACCES",
		"new": "!EACCES", "/vm/" + l.UUID + "/x": "!EACCES", "/local/domain/0/x": "!EACCES",
	} {
		c.want(abi.XSWrite, 0, nul(path)+"1", want)
	}
	c.want(abi.XSWatch, 0, nul("control/shutdown", "s"), ok)
	c.events = nil
	if err := s.Write("/local/domain/1/control/shutdown", "poweroff"); err != nil {
		t.Fatal(err)
	}
	c.wantEvents("control/shutdown s")
	if err := Populate(s, Layout{}); err == nil {
		t.Error("no UUID accepted")
	}
}
