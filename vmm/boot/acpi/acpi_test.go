// SPDX-License-Identifier: Apache-2.0

package acpi

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const testBase = 0xe0000

func full(cpus int) Config {
	return Config{CPUs: cpus, LAPIC: 0xfee00000, IOAPIC: 0xfec00000, PIT: true, Serial: []SerialPort{{0x3f8, 4}, {0x2f8, 3}}}
}

// walk follows the pointers as an operating system does and returns the tables
// by signature, checksums verified.
func walk(t *testing.T, tb *Tables) map[string][]byte {
	t.Helper()
	le := binary.LittleEndian
	zeroSum := func(what string, p []byte) {
		if checksum(p) != 0 {
			t.Errorf("%s: checksum is wrong", what)
		}
	}
	r := tb.Data[tb.RSDP-tb.Base:]
	if string(r[:8]) != "RSD PTR " || r[15] != 2 || le.Uint32(r[20:]) != 36 {
		t.Fatalf("RSDP % x", r[:36])
	}
	zeroSum("RSDP revision 0", r[:20])
	zeroSum("RSDP", r[:36])
	out := map[string][]byte{}
	take := func(at uint64) []byte {
		p := tb.Data[at-tb.Base:]
		p = p[:le.Uint32(p[4:])]
		zeroSum(string(p[:4]), p)
		if at%align != 0 {
			t.Errorf("%s at %#x is not aligned", p[:4], at)
		}
		out[string(p[:4])] = p
		return p
	}
	xsdt := take(le.Uint64(r[24:]))
	for p := xsdt[36:]; len(p) > 0; p = p[8:] {
		take(le.Uint64(p))
	}
	take(le.Uint64(out["FACP"][fadtXDSDT:]))
	if le.Uint64(out["FACP"][fadtXDSDT:]) != uint64(le.Uint32(out["FACP"][fadtDSDT:])) {
		t.Error("the two DSDT pointers differ")
	}
	return out
}

func TestTablesHangTogether(t *testing.T) {
	for _, base := range []uint64{testBase, 0x7ff0000, 0xfffffc0} {
		tb, err := Build(full(3), base)
		if err != nil {
			t.Fatal(err)
		}
		tables := walk(t, tb)
		for _, s := range []string{"XSDT", "FACP", "APIC", "DSDT"} {
			if tables[s] == nil {
				t.Errorf("no %s", s)
			}
		}
	}
}

// madtEntries splits the MADT.
func madtEntries(p []byte) (out [][]byte) {
	for p = p[44:]; len(p) > 0; p = p[p[1]:] {
		out = append(out, p[:p[1]])
	}
	return out
}

func TestMADTListsEveryCPUOnce(t *testing.T) {
	le := binary.LittleEndian
	for _, c := range []struct {
		cpus int
		id   func(int) uint32
	}{{1, nil}, {16, nil}, {255, nil}, {256, nil}, {4096, nil}, {128, func(i int) uint32 { return uint32(2 * i) }}, {4096, func(i int) uint32 { return uint32(2 * i) }}} {
		t.Run(fmt.Sprint(c.cpus), func(t *testing.T) {
			cfg := full(c.cpus)
			cfg.APICID = c.id
			tb, err := Build(cfg, testBase)
			if err != nil {
				t.Fatal(err)
			}
			if len(tb.Data) > 128<<10 {
				t.Errorf("%d bytes do not fit the BIOS area", len(tb.Data))
			}
			seen := map[uint32]uint32{}
			for _, e := range madtEntries(walk(t, tb)["APIC"]) {
				var uid, id, flags uint32
				switch {
				case e[0] == madtLAPIC && len(e) == 8:
					uid, id, flags = uint32(e[2]), uint32(e[3]), le.Uint32(e[4:])
					if uid >= 255 || id >= 255 {
						t.Errorf("short entry for uid %d id %d", uid, id)
					}
				case e[0] == madtX2APIC && len(e) == 16:
					id, flags, uid = le.Uint32(e[4:]), le.Uint32(e[8:]), le.Uint32(e[12:])
					if uid < 255 && id < 255 {
						t.Errorf("long entry for uid %d id %d", uid, id)
					}
				default:
					continue
				}
				if _, dup := seen[uid]; dup || flags != 1 {
					t.Errorf("uid %d: duplicate or flags %#x", uid, flags)
				}
				seen[uid] = id
			}
			for i := range c.cpus {
				if id, ok := seen[uint32(i)]; !ok || id != cfg.apicID(i) {
					t.Fatalf("vCPU %d has APIC id %d (%v)", i, id, ok)
				}
			}
			if len(seen) != c.cpus {
				t.Errorf("%d processors for %d CPUs", len(seen), c.cpus)
			}
		})
	}
}

func TestMADTInterruptControllers(t *testing.T) {
	kinds := func(c Config) string {
		tb, err := Build(c, testBase)
		if err != nil {
			t.Fatal(err)
		}
		madt := walk(t, tb)["APIC"]
		if got := binary.LittleEndian.Uint32(madt[36:]); got != 0xfee00000 {
			t.Errorf("local APIC at %#x", got)
		}
		var s []string
		for _, e := range madtEntries(madt) {
			s = append(s, fmt.Sprintf("%x", e[0]))
		}
		return strings.Join(s, " ")
	}
	c := full(1)
	if got := kinds(c); got != "0 4 1 2" {
		t.Errorf("with PIT: %s", got)
	}
	c.PIT = false
	if got := kinds(c); got != "0 4 1" {
		t.Errorf("without PIT: %s", got)
	}
	c.IOAPIC = 0
	if got := kinds(c); got != "0 4" {
		t.Errorf("without I/O APIC: %s", got)
	}
	c.APICID = func(int) uint32 { return 300 }
	if got := kinds(c); got != "9 4 a" {
		t.Errorf("x2APIC: %s", got)
	}
}

func TestBuildRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
		base uint64
		want string
	}{
		{"no CPU", Config{}, testBase, "0 CPUs"},
		{"too many CPUs", Config{CPUs: 4097}, testBase, "4097"},
		{"unaligned", full(1), 8, "multiple of 16"},
		{"shared APIC id", Config{CPUs: 2, APICID: func(int) uint32 { return 5 }}, testBase, "0x5"},
		{"broadcast id", Config{CPUs: 1, APICID: func(int) uint32 { return 0xffffffff }}, testBase, "broadcast"},
		{"five serial ports", Config{CPUs: 1, Serial: make([]SerialPort, 5)}, testBase, "5 serial"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Build(c.cfg, c.base); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestPackageLength(t *testing.T) {
	for _, n := range []int{0, 1, 62, 63, 64, 4093, 4094, 4095, 70000, 1 << 20} {
		got := pkg([]byte{amlScope}, make([]byte, n))
		p := got[1:]
		extra := int(p[0] >> 6)
		length := int(p[0] & 0x3f)
		if extra > 0 {
			length = int(p[0] & 0xf)
			for i := range extra {
				length |= int(p[1+i]) << (4 + 8*i)
			}
		}
		if length != len(p) || len(p) != 1+extra+n {
			t.Errorf("body %d: length %d in %d extra bytes, have %d", n, length, extra, len(p))
		}
	}
}

func TestIntegers(t *testing.T) {
	for _, c := range []struct {
		v    uint32
		want []byte
	}{{0, []byte{0}}, {1, []byte{1}}, {2, []byte{0x0a, 2}}, {255, []byte{0x0a, 255}}, {256, []byte{0x0c, 0, 1, 0, 0}}} {
		if got := integer(c.v); !bytes.Equal(got, c.want) {
			t.Errorf("%d: % x", c.v, got)
		}
	}
	if got := eisaID("PNP0501"); !bytes.Equal(got, []byte{0x0c, 0x41, 0xd0, 0x05, 0x01}) {
		t.Errorf("PNP0501: % x", got)
	}
}

// TestDisassembler lets ACPICA, the reference implementation, read the tables.
func TestDisassembler(t *testing.T) {
	iasl, err := exec.LookPath("iasl")
	if err != nil {
		t.Skip("needs iasl (acpica-tools): ", err)
	}
	tb, err := Build(full(300), testBase)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for sig, p := range walk(t, tb) {
		name := filepath.Join(dir, strings.ToLower(sig))
		if err := os.WriteFile(name+".aml", p, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(iasl, "-p", name, "-d", name+".aml").CombinedOutput()
		if err != nil || bytes.Contains(out, []byte("rror")) || bytes.Contains(out, []byte("arning")) {
			t.Fatalf("%s: %v\n%s", sig, err, out)
		}
		dsl, err := os.ReadFile(name + ".dsl")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range map[string][]string{
			"DSDT": {"_S5", "Device (COM1)", `EisaId ("PNP0501")`, "0x03F8", "Device (COM2)", "Device (RTC0)", "Edge, ActiveHigh, Exclusive"},
			"FACP": {"Hardware Reduced (V5) : 1", "Reset Register Supported (V2) : 1", "0000000000000CF9", "0000000000000600"},
			"APIC": {"Processor Local x2APIC", "Processor UID : 0000012B", "I/O APIC", "FEC00000", "Interrupt Source Override"},
		}[sig] {
			if !bytes.Contains(dsl, []byte(want)) {
				t.Errorf("%s lacks %q", sig, want)
			}
		}
		if bytes.Contains(dsl, []byte("Incorrect")) || bytes.Contains(dsl, []byte("Invalid")) || bytes.Contains(dsl, []byte("**** ")) {
			t.Errorf("%s: iasl complains:\n%s", sig, dsl)
		}
		if sig != "DSDT" {
			continue
		}
		// What it understood must compile to a table with the same body.
		out, err = exec.Command(iasl, "-p", name+"2", name+".dsl").CombinedOutput()
		if err != nil {
			t.Fatalf("compile: %v\n%s", err, out)
		}
		again, err := os.ReadFile(name + "2.aml")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again[headerSize:], p[headerSize:]) {
			t.Errorf("compiled again it differs:\n% x\n% x", again[headerSize:], p[headerSize:])
		}
	}
}
