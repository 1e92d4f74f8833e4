// SPDX-License-Identifier: Apache-2.0

// Package unpack takes kernels and modules out of what Linux distributions
// pack them in: single compressed files, and the payload of a Linux bzImage.
//
// Formats, told apart by their magic numbers: gzip, xz (with or without the
// x86 filter that kernels use), zstd, lz4 in its legacy framing, lzma, bzip2,
// and ELF files that are not compressed. lzo is recognised, to be named in the
// error, but not unpacked.
//
// # Rules
//
// All input is hostile. Each call takes a limit on the result, in bytes, which
// is itself cut off at Max; working memory (dictionaries and windows) is
// bounded whatever the input announces. Checksums, and sizes of blocks and
// files, are checked where a format carries them for the part that is read.
// Errors wrap ErrFormat, ErrUnsupported or ErrLimit when the input is at
// fault, and none of them when reading it failed. No error comes with a part
// of the result.
//
// Of a file with several streams behind one another only the first is
// unpacked, except for zstd, lz4 and bzip2, whose own tools make one file of
// many; bytes behind the end are ignored where the format tells the end.
//
// # Concurrency
//
// The package has no state: all functions may be called from any goroutine.
// What a call reads from must not change meanwhile.
package unpack
