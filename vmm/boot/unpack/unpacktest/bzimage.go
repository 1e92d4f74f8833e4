// SPDX-License-Identifier: Apache-2.0

package unpacktest

import (
	"bytes"
	"encoding/binary"
)

// Offsets in a bzImage's setup header (Documentation/arch/x86/boot.rst), for
// tests that damage it.
const (
	OffSetupSects    = 0x1f1
	OffBootFlag      = 0x1fe
	OffMagic         = 0x202
	OffVersion       = 0x206
	OffPayloadOffset = 0x248
	OffPayloadLength = 0x24c
)

// BzImage wraps a payload as Linux's build does: behind setup code and
// decompressor, with more behind it.
func BzImage(payload []byte) []byte {
	const sects, sector, decompressor = 3, 512, 0x100
	le := binary.LittleEndian
	p := make([]byte, (sects+1)*sector+decompressor)
	p[OffSetupSects] = sects
	le.PutUint16(p[OffBootFlag:], 0xaa55)
	copy(p[OffMagic:], "HdrS")
	le.PutUint16(p[OffVersion:], 0x020f)
	le.PutUint32(p[OffPayloadOffset:], decompressor)
	le.PutUint32(p[OffPayloadLength:], uint32(len(payload)))
	return append(append(p, payload...), bytes.Repeat([]byte("what follows"), 28)...)
}
