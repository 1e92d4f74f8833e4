// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"slices"
	"testing"
)

// module makes the smallest ELF file with a section .modinfo.
func module(info string) []byte {
	const names = "\x00.modinfo\x00.shstrtab\x00"
	const header, section = 64, 64
	le := binary.LittleEndian
	b := make([]byte, header)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], 1)  // relocatable
	le.PutUint16(b[18:], 62) // x86-64
	le.PutUint32(b[20:], 1)
	le.PutUint16(b[52:], header)
	le.PutUint16(b[58:], section)
	le.PutUint16(b[60:], 3)
	le.PutUint16(b[62:], 2)
	infoAt := len(b)
	b = append(b, info...)
	namesAt := len(b)
	b = append(b, names...)
	le.PutUint64(b[40:], uint64(len(b)))
	put := func(name, typ uint32, off, size int) {
		s := make([]byte, section)
		le.PutUint32(s[0:], name)
		le.PutUint32(s[4:], typ)
		le.PutUint64(s[24:], uint64(off))
		le.PutUint64(s[32:], uint64(size))
		b = append(b, s...)
	}
	put(0, 0, 0, 0)
	put(1, 1, infoAt, len(info))
	put(10, 3, namesAt, len(names))
	return b
}

func TestDependenciesComeFromModinfo(t *testing.T) {
	for info, want := range map[string][]string{
		"license=GPL\x00depends=kvm,ccp\x00": {"kvm", "ccp"},
		"depends=virtio-ring\x00name=x\x00":  {"virtio_ring"},
		"depends=\x00":                       nil,
		"name=x\x00":                         nil,
		"softdepends=no\x00depends=a, b\x00": {"a", "b"},
		"depends=cut":                        {"cut"},
	} {
		got, err := parseDepends(module(info))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, %v; want %q", info, got, err, want)
		}
	}
	for name, p := range map[string][]byte{"text": []byte("no"), "no section": bytes.Replace(module(""), []byte(".modinfo"), []byte(".modwhat"), 1)} {
		if _, err := parseDepends(p); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestModuleNames(t *testing.T) {
	for file, want := range map[string]string{
		"lib/modules/1/kernel/arch/x86/kvm/kvm-amd.ko.xz": "kvm_amd",
		"a/kvm.ko": "kvm", "b.ko.zst": "b", "c.ko.gz": "c",
		"d.ko.bz2": "", ".ko": "", "modules.dep": "", "x.kobject": "",
	} {
		if got, ok := moduleName(file); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", file, got, ok)
		}
	}
}

func TestModulesComeAfterWhatTheyNeed(t *testing.T) {
	have := map[string][]string{
		"kvm_amd": {"kvm", "ccp"}, "kvm": {"irqbypass"}, "irqbypass": nil, "ccp": {"rng_core"},
		"a": {"b"}, "b": {"a"},
	}
	if got, want := order(have, []string{"kvm-amd", "virtio_console"}), []string{"irqbypass", "kvm", "ccp", "kvm_amd"}; !slices.Equal(got, want) {
		t.Errorf("order %q, want %q", got, want)
	}
	if got := order(have, []string{"a"}); len(got) != 2 {
		t.Errorf("a cycle gives %q", got)
	}
	k := &Kernel{Manifest: Manifest{Name: "x", Modules: []Module{{Name: "tun"}}}}
	if got, err := k.LoadOrder("tun"); err != nil || !slices.Equal(got, []string{"tun"}) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := k.LoadOrder("nothing"); err == nil {
		t.Error("an unknown module is no error")
	}
}
