// SPDX-License-Identifier: Apache-2.0

package acpi

import "encoding/binary"

// A few AML terms (ACPI 6.3, chapter 20), each returned encoded.

const (
	amlZero    = 0x00
	amlOne     = 0x01
	amlName    = 0x08
	amlByte    = 0x0a
	amlDword   = 0x0c
	amlScope   = 0x10
	amlBuffer  = 0x11
	amlPackage = 0x12
	amlExt     = 0x5b
	amlDevice  = 0x82 // after amlExt
)

func join(parts ...[]byte) (out []byte) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// pkg is a term with a package length: opcode, length, body. The length
// counts its own bytes: one byte up to 63, else the low 4 bits in the first
// byte and 8 more bits in each of up to three further ones.
func pkg(op []byte, body []byte) []byte {
	n := len(body)
	if n+1 <= 0x3f {
		return join(op, []byte{byte(n + 1)}, body)
	}
	extra := 1
	for n+1+extra >= 1<<(4+8*extra) {
		extra++
	}
	n += 1 + extra
	l := []byte{byte(extra<<6 | n&0xf)}
	for n >>= 4; extra > 0; extra-- {
		l = append(l, byte(n))
		n >>= 8
	}
	return join(op, l, body)
}

func integer(v uint32) []byte {
	switch {
	case v == 0:
		return []byte{amlZero}
	case v == 1:
		return []byte{amlOne}
	case v <= 0xff:
		return []byte{amlByte, byte(v)}
	}
	return binary.LittleEndian.AppendUint32([]byte{amlDword}, v)
}

// name is Name(seg, value); seg has 4 characters.
func name(seg string, value []byte) []byte {
	return join([]byte{amlName}, []byte(seg), value)
}

func scope(seg string, body ...[]byte) []byte {
	return pkg([]byte{amlScope}, join([]byte(seg), join(body...)))
}

func device(seg string, body ...[]byte) []byte {
	return pkg([]byte{amlExt, amlDevice}, join([]byte(seg), join(body...)))
}

func packageOf(values ...[]byte) []byte {
	return pkg([]byte{amlPackage}, join([]byte{byte(len(values))}, join(values...)))
}

func buffer(data []byte) []byte {
	return pkg([]byte{amlBuffer}, join(integer(uint32(len(data))), data))
}

// eisaID packs an id such as "PNP0501": three letters of 5 bits and four
// hexadecimal digits, big endian.
func eisaID(id string) []byte {
	v := uint32(0)
	for _, c := range id[:3] {
		v = v<<5 | uint32(c-'@')
	}
	for _, c := range id[3:] {
		digit := uint32(c - '0')
		if c >= 'A' {
			digit = uint32(c-'A') + 10
		}
		v = v<<4 | digit
	}
	return binary.BigEndian.AppendUint32([]byte{amlDword}, v)
}

// Resource descriptors (ACPI 6.3, 6.4).

// ioPorts is a 16-bit decoded I/O range.
func ioPorts(base uint16, n byte) []byte {
	lo, hi := byte(base), byte(base>>8)
	return []byte{0x47, 0x01, lo, hi, lo, hi, 1, n}
}

// edgeInterrupt is an extended interrupt descriptor: consumer, edge
// triggered, active high, exclusive.
func edgeInterrupt(gsi uint32) []byte {
	return binary.LittleEndian.AppendUint32([]byte{0x89, 6, 0, 0x03, 1}, gsi)
}

// resources is a resource template: the descriptors and an end tag whose
// checksum of zero means "not checked".
func resources(descriptors ...[]byte) []byte {
	return buffer(join(join(descriptors...), []byte{0x79, 0}))
}
