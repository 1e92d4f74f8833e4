// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"encoding/binary"

	"xenvmm/xenshim/abi"
)

// call is one hypercall in progress: the vCPU, its state and its word size.
// It lives inside the VCPU, so that a call allocates nothing.
type call struct {
	*VCPU
	s     *CPUState
	width abi.Width
	out   Outcome
	// budget is the work left to this call (budget.go).
	budget int
	// multi is set while the entries of a multicall run.
	multi bool
	// polling is set once the call has registered the vCPU as a poller.
	polling bool

	args, entryArgs args
	statusBuf       [2]byte
	ports           [abi.SchedPollMaxPorts]uint32
	wordBuf         [32]byte
	argBuf          [abi.VCPUContextSize]byte
	pageBuf         [pageSize]byte
}

// inRange reports whether [la, la+n) is a range a pointer of this mode can
// name. A 32-bit pointer may not run over 4 GiB, a 64-bit one not over 2^64.
func (c *call) inRange(la, n uint64) bool {
	end := la + n
	if end < la {
		return false
	}
	return c.width == abi.Width64 || end <= 1<<32
}

// copyIn fills p from guest linear address la. Each page is translated and
// read once, so later changes of tables or data by the guest have no effect on
// what is in p. It reports false (for -EFAULT) if any byte can't be read.
func (c *call) copyIn(p []byte, la uint64) bool {
	if !c.inRange(la, uint64(len(p))) {
		return false
	}
	for len(p) > 0 {
		gpa, ok := translate(c.d.cfg.Memory, c.s, la, false)
		if !ok {
			return false
		}
		n := min(pageSize-la&pageMask, uint64(len(p)))
		if c.d.cfg.Memory.ReadAt(p[:n], gpa) != nil {
			return false
		}
		p, la = p[n:], la+n
	}
	return true
}

// copyOut writes p to guest linear address la, page by page. As on Xen, pages
// before one that can't be written have been written when it reports false.
func (c *call) copyOut(la uint64, p []byte) bool {
	if !c.inRange(la, uint64(len(p))) {
		return false
	}
	for len(p) > 0 {
		gpa, ok := translate(c.d.cfg.Memory, c.s, la, true)
		if !ok {
			return false
		}
		n := min(pageSize-la&pageMask, uint64(len(p)))
		if c.d.cfg.Memory.WriteAt(p[:n], gpa) != nil {
			return false
		}
		p, la = p[n:], la+n
	}
	return true
}

// arg copies an argument structure of n bytes into the call's argument buffer
// and returns the copy, valid until the next arg.
func (c *call) arg(la uint64, n uint32) ([]byte, bool) {
	p := c.argBuf[:n]
	return p, c.copyIn(p, la)
}

// element is the address of element i, size bytes each, of the array at la;
// ok is false where the index runs out of the address space.
func element(la, i, size uint64) (uint64, bool) {
	if i > (^uint64(0)-la)/size {
		return 0, false
	}
	return la + i*size, true
}

// readWord reads one guest word (4 or 8 bytes) of the array at la.
func (c *call) readWord(la, i uint64) (uint64, bool) {
	at, ok := element(la, i, uint64(c.width))
	if !ok {
		return 0, false
	}
	p := c.wordBuf[:c.width]
	if !c.copyIn(p, at) {
		return 0, false
	}
	return word(p, 0, c.width), true
}

// word decodes the guest word at off.
func word(p []byte, off uint32, w abi.Width) uint64 {
	if w == abi.Width32 {
		return uint64(binary.LittleEndian.Uint32(p[off:]))
	}
	return binary.LittleEndian.Uint64(p[off:])
}

// putWord encodes a guest word at off.
func putWord(p []byte, off uint32, w abi.Width, v uint64) {
	if w == abi.Width32 {
		binary.LittleEndian.PutUint32(p[off:], uint32(v))
		return
	}
	binary.LittleEndian.PutUint64(p[off:], v)
}

func u16(p []byte, off uint32) uint16 { return binary.LittleEndian.Uint16(p[off:]) }
func u32(p []byte, off uint32) uint32 { return binary.LittleEndian.Uint32(p[off:]) }
func u64(p []byte, off uint32) uint64 { return binary.LittleEndian.Uint64(p[off:]) }

func putU16(p []byte, off uint32, v uint16) { binary.LittleEndian.PutUint16(p[off:], v) }
func putU32(p []byte, off uint32, v uint32) { binary.LittleEndian.PutUint32(p[off:], v) }
func putU64(p []byte, off uint32, v uint64) { binary.LittleEndian.PutUint64(p[off:], v) }
