// SPDX-License-Identifier: Apache-2.0

// Package wire is the protocol between a lab host's init and the library
// that started it, and between a warm lab's server and its clients.
//
// A frame is a 9-byte header followed by its payload:
//
//	0  uint32 little-endian  length of the payload, at most MaxPayload
//	4  uint8                 Kind
//	5  uint32 little-endian  id: of the call, or of the running program
//
// Calls carry a JSON Call and are answered by one Reply frame with the same
// id. A program's streams are frames of raw bytes under the program's id, held
// back by credits (see Window) so that one slow consumer of output stops only
// its own program.
//
// Concurrency: any number of goroutines may call Conn.Write; one at a time
// may call Conn.Read.
package wire
