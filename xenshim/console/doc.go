// SPDX-License-Identifier: Apache-2.0

// Package console is the backend of the Xen paravirtual console: a page with
// two byte rings, out (guest to host, 2 KiB) and in (host to guest, 1 KiB),
// described in public/io/console.h.
//
// # Rules
//
// Output goes to an io.Writer in the order the guest wrote it. A slow writer
// holds the guest back: bytes are handed to the writer before their room in
// the ring is given back. Input is taken from its source only while the ring
// has room, so nothing is lost however much is pasted; what was typed while
// the guest doesn't read stays where it is.
//
// The guest is hostile. The two indices that this side advances are kept
// here and only written to the page; the guest's indices are loaded once per
// step. A distance greater than the ring means that the guest has broken its
// index: the ring is taken up again at the guest's index, and what it held is
// dropped. The guest is signalled only after at least one byte has moved.
//
// # Concurrency
//
// One goroutine moves output, a second one pulls from an attached reader.
// Kick and Input may be called from any goroutine and never block on the
// guest. Errors of the guest are logged at debug level only.
package console
