// SPDX-License-Identifier: Apache-2.0

package unpack

import "bytes"

// Method is a way to compress, by its usual name.
type Method string

// The methods that are recognised.
const (
	Unknown Method = "unknown"
	None    Method = "none" // an ELF file as it is
	Gzip    Method = "gzip"
	Bzip2   Method = "bzip2"
	LZMA    Method = "lzma" // the .lzma format of LZMA Utils
	XZ      Method = "xz"
	LZO     Method = "lzo" // recognised only
	LZ4     Method = "lz4" // legacy framing
	Zstd    Method = "zstd"
)

// magics are the first bytes of what Linux compresses its payload with
// (Documentation/arch/x86/boot.rst, "payload_offset").
var magics = [...]struct {
	magic  string
	method Method
}{
	{"\x1f\x8b", Gzip},
	{"BZh", Bzip2},
	{"\x5d\x00\x00", LZMA},
	{xzMagic, XZ},
	{"\x89LZO", LZO},
	{"\x02\x21\x4c\x18", LZ4},
	{"\x28\xb5\x2f\xfd", Zstd},
	{elfMagic, None},
}

const elfMagic = "\x7fELF"

// headSize is enough of a file for Detect.
const headSize = 8

// Detect tells the method by the first bytes of a file, of which it needs at
// most 8. It is Unknown if they are no known magic number.
func Detect(head []byte) Method {
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.method
		}
	}
	return Unknown
}
