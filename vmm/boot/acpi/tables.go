// SPDX-License-Identifier: Apache-2.0

package acpi

import (
	"encoding/binary"
	"fmt"
)

const (
	headerSize = 36
	rsdpSize   = 36
	align      = 64 // of each table

	oemID      = "XENVMM" // 6 bytes
	oemTableID = "XENVMM  "
	creatorID  = "XVMM"
)

// Tables is a block of ACPI tables for one place in guest memory.
type Tables struct {
	Base uint64 // where Data must be placed
	RSDP uint64 // address of the root pointer: at Base, so that a search in the BIOS area finds it
	Data []byte
}

// Build makes the tables for guest physical address base, which must be a
// multiple of 16. The size of the result does not depend on base.
func Build(c Config, base uint64) (*Tables, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if base%16 != 0 {
		return nil, fmt.Errorf("acpi: table address %#x is not a multiple of 16", base)
	}
	b := builder{base: base, data: make([]byte, rsdpSize)}
	dsdt := b.add(table("DSDT", 2, dsdtBody(&c)))
	fadt := b.add(table("FACP", 6, fadtBody(&c, dsdt)))
	madt := b.add(table("APIC", 5, madtBody(&c)))
	var list []byte
	for _, t := range []uint64{fadt, madt} {
		list = binary.LittleEndian.AppendUint64(list, t)
	}
	xsdt := b.add(table("XSDT", 1, list))
	copy(b.data, rsdp(xsdt))
	return &Tables{Base: base, RSDP: base, Data: b.data}, nil
}

type builder struct {
	base uint64
	data []byte
}

// add appends a table and returns its address.
func (b *builder) add(t []byte) uint64 {
	for len(b.data)%align != 0 {
		b.data = append(b.data, 0)
	}
	at := b.base + uint64(len(b.data))
	b.data = append(b.data, t...)
	return at
}

// table puts the system description table header in front of a body (ACPI
// 6.3, 5.2.6).
func table(signature string, revision byte, body []byte) []byte {
	t := make([]byte, headerSize, headerSize+len(body))
	copy(t, signature)
	binary.LittleEndian.PutUint32(t[4:], uint32(headerSize+len(body)))
	t[8] = revision
	copy(t[10:], oemID)
	copy(t[16:], oemTableID)
	binary.LittleEndian.PutUint32(t[24:], 1)
	copy(t[28:], creatorID)
	binary.LittleEndian.PutUint32(t[32:], 1)
	t = append(t, body...)
	t[9] = checksum(t)
	return t
}

// rsdp is the root pointer, revision 2 (ACPI 6.3, 5.2.5.3). The first checksum
// covers the 20 bytes of revision 0. There is no RSDT.
func rsdp(xsdt uint64) []byte {
	p := make([]byte, rsdpSize)
	copy(p, "RSD PTR ")
	copy(p[9:], oemID)
	p[15] = 2
	binary.LittleEndian.PutUint32(p[20:], rsdpSize)
	binary.LittleEndian.PutUint64(p[24:], xsdt)
	p[8] = checksum(p[:20])
	p[32] = checksum(p)
	return p
}

// checksum is the byte that makes the sum of p zero.
func checksum(p []byte) byte {
	var sum byte
	for _, b := range p {
		sum += b
	}
	return -sum
}
