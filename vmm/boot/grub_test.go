// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// grubImage builds a real PVH ELF32: GRUB for Xen's PVH mode.
func grubImage(t *testing.T) []byte {
	t.Helper()
	tool, err := exec.LookPath("grub-mkstandalone")
	if err != nil {
		t.Skip("needs grub-mkstandalone (grub-common): ", err)
	}
	if _, err := os.Stat("/usr/lib/grub/i386-xen_pvh"); err != nil {
		t.Skip("needs GRUB's modules for PVH (grub-xen-bin): ", err)
	}
	out := filepath.Join(t.TempDir(), "grub.elf")
	cmd := exec.Command(tool, "-O", "i386-xen_pvh", "--install-modules=normal", "--locales=", "--fonts=", "--themes=", "-o", out)
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, msg)
	}
	p, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestGrubForPVH(t *testing.T) {
	file := grubImage(t)
	rep, err := Inspect(bytes.NewReader(file), int64(len(file)))
	if err != nil || rep.Kind != "ELF32" || rep.Machine != "i386" || !rep.PVH || rep.PVHEntry != 0x100000 || len(rep.Warnings) != 0 {
		t.Fatalf("report %+v, %v", rep, err)
	}
	p := testParams(file)
	p.Cmdline = "quiet"
	img, g := mustLoad(t, p)
	checkLayout(t, p, img)
	for _, s := range rep.Segments {
		if !bytes.Equal(g.mem[s.Paddr:s.Paddr+s.FileSize], file[s.Offset:s.Offset+s.FileSize]) {
			t.Errorf("segment at %#x differs", s.Paddr)
		}
	}
}
