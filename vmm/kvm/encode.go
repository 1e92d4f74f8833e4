// SPDX-License-Identifier: Apache-2.0

package kvm

import "encoding/binary"

// Variable-length arguments: a header with a count and that many entries. They
// are built and read as bytes, so that the layout does not depend on Go's.

var le = binary.LittleEndian

func newCPUIDBuffer(n int) []byte {
	b := make([]byte, sizeCPUIDHeader+n*sizeCPUIDEntry)
	le.PutUint32(b, uint32(n))
	return b
}

func encodeCPUID(entries []CPUIDEntry) []byte {
	b := newCPUIDBuffer(len(entries))
	for i := range entries {
		e, p := &entries[i], b[sizeCPUIDHeader+i*sizeCPUIDEntry:]
		for j, v := range [...]uint32{e.Function, e.Index, e.Flags, e.Eax, e.Ebx, e.Ecx, e.Edx} {
			le.PutUint32(p[4*j:], v)
		}
	}
	return b
}

// decodeCPUID trusts the count no further than the buffer reaches.
func decodeCPUID(b []byte) []CPUIDEntry {
	n := min(int(le.Uint32(b)), (len(b)-sizeCPUIDHeader)/sizeCPUIDEntry)
	entries := make([]CPUIDEntry, n)
	for i := range entries {
		e, p := &entries[i], b[sizeCPUIDHeader+i*sizeCPUIDEntry:]
		for j, v := range [...]*uint32{&e.Function, &e.Index, &e.Flags, &e.Eax, &e.Ebx, &e.Ecx, &e.Edx} {
			*v = le.Uint32(p[4*j:])
		}
	}
	return entries
}

func encodeMSRs(entries []MSREntry) []byte {
	b := make([]byte, sizeMSRsHeader+len(entries)*sizeMSREntry)
	le.PutUint32(b, uint32(len(entries)))
	for i, e := range entries {
		p := b[sizeMSRsHeader+i*sizeMSREntry:]
		le.PutUint32(p, e.Index)
		le.PutUint64(p[8:], e.Data)
	}
	return b
}

func newMSRListBuffer(n int) []byte {
	b := make([]byte, 4+4*n)
	le.PutUint32(b, uint32(n))
	return b
}

func decodeMSRList(b []byte) []uint32 {
	n := min(int(le.Uint32(b)), (len(b)-4)/4)
	list := make([]uint32, n)
	for i := range list {
		list[i] = le.Uint32(b[4+4*i:])
	}
	return list
}
