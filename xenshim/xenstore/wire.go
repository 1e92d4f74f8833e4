// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"xenvmm/xenshim/abi"
)

// header is struct xsd_sockmsg: four little-endian 32-bit words.
type header struct {
	typ   uint32
	reqID uint32
	txID  uint32
	size  uint32 // bytes of payload
}

func decodeHeader(b []byte) header {
	return header{
		typ:   binary.LittleEndian.Uint32(b[0:]),
		reqID: binary.LittleEndian.Uint32(b[4:]),
		txID:  binary.LittleEndian.Uint32(b[8:]),
		size:  binary.LittleEndian.Uint32(b[12:]),
	}
}

// encode returns one message: header, then the parts. The size is taken from
// the parts.
func (h header) encode(parts ...[]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	b := make([]byte, abi.XSHeaderSize, abi.XSHeaderSize+n)
	binary.LittleEndian.PutUint32(b[0:], h.typ)
	binary.LittleEndian.PutUint32(b[4:], h.reqID)
	binary.LittleEndian.PutUint32(b[8:], h.txID)
	binary.LittleEndian.PutUint32(b[12:], uint32(n))
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

// oneString returns the payload's only string: exactly one NUL, at the end.
func oneString(p []byte) (string, bool) {
	i := bytes.IndexByte(p, 0)
	if i < 0 || i != len(p)-1 {
		return "", false
	}
	return string(p[:i]), true
}

// cstrings returns the first max NUL-terminated strings of p. Bytes after the
// last NUL are ignored, as other servers do.
func cstrings(p []byte, max int) []string {
	var out []string
	for len(out) < max {
		i := bytes.IndexByte(p, 0)
		if i < 0 {
			break
		}
		out = append(out, string(p[:i]))
		p = p[i+1:]
	}
	return out
}

// cstring is s with its terminating NUL.
func cstring(s string) []byte { return append([]byte(s), 0) }

// parseDomID reads a decimal domain id; values beyond 16 bits are refused.
func parseDomID(s string) (abi.DomID, bool) {
	v, err := strconv.ParseUint(s, 10, 16)
	return abi.DomID(v), err == nil
}

// errorName maps e to the errors that the protocol can name (xsd_errors of
// public/io/xs_wire.h). Anything else would confuse a guest's lookup table.
func errorName(e abi.Errno) string {
	switch e {
	case abi.EINVAL, abi.EACCES, abi.EEXIST, abi.EISDIR, abi.ENOENT, abi.ENOMEM, abi.ENOSPC, abi.EIO,
		abi.ENOSYS, abi.EROFS, abi.EBUSY, abi.EAGAIN, abi.E2BIG, abi.EPERM:
		return e.Error()
	}
	return abi.EINVAL.Error()
}
