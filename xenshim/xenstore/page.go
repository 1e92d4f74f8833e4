// SPDX-License-Identifier: Apache-2.0

package xenstore

import "xenvmm/xenshim/abi"

// Page is the ring page, 4 KiB that the guest changes at any time. Load32 and
// Store32 are single, sequentially consistent accesses to aligned words;
// ReadAt and WriteAt may tear. Offsets are bytes. An error that gpc.Away knows
// means that the page is away for now: nothing has happened, and what was to be
// done is done after the Kick that comes when it is back. Others mean that the
// page is not accessible any more and end the connection.
type Page interface {
	ReadAt(p []byte, off uint32) error
	WriteAt(p []byte, off uint32) error
	Load32(off uint32) (uint32, error)
	Store32(off uint32, v uint32) error
}

// The ring is used in pieces that don't wrap.
const ringSize = abi.XenstoreRingSize

// readRing copies len(p) <= ringSize bytes of the request ring from stream
// offset at on.
func readRing(pg Page, p []byte, at uint32) error {
	first := min(uint32(len(p)), ringSize-at%ringSize)
	if err := pg.ReadAt(p[:first], abi.XenstoreReq+at%ringSize); err != nil {
		return err
	}
	if int(first) == len(p) {
		return nil
	}
	return pg.ReadAt(p[first:], abi.XenstoreReq)
}

// writeRing copies p to the response ring.
func writeRing(pg Page, p []byte, at uint32) error {
	first := min(uint32(len(p)), ringSize-at%ringSize)
	if err := pg.WriteAt(p[:first], abi.XenstoreRsp+at%ringSize); err != nil {
		return err
	}
	if int(first) == len(p) {
		return nil
	}
	return pg.WriteAt(p[first:], abi.XenstoreRsp)
}
