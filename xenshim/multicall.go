// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// multicall runs a list of hypercalls: multicall(list, count). Each entry is
// copied in, run, and has its result written back before the next is read. A
// multicall among the entries gets -EINVAL as its result; an entry that can't
// be read or written ends the list with -EFAULT. After an entry that stops the
// vCPU or the domain the rest is not run.
func (c *call) multicall(a *args) int64 {
	list, count := a[0], a[1]&0xffff_ffff
	if c.multi {
		return errno(abi.EINVAL)
	}
	if count > multicallMax {
		return errno(abi.E2BIG)
	}
	l := abi.MulticallLayout(c.width)
	c.multi = true
	defer func() { c.multi = false }()
	for i := range count {
		at, ok := element(list, i, uint64(l.Size))
		if !ok {
			return errno(abi.EFAULT)
		}
		p, ok := c.arg(at, l.Size)
		if !ok {
			return errno(abi.EFAULT)
		}
		nr := word(p, l.Op, c.width)
		var sub args
		for j := range sub {
			sub[j] = word(p, l.Args+uint32(j)*uint32(c.width), c.width)
		}
		c.entryArgs = sub
		c.spend(1)
		res := c.dispatch(nr, &c.entryArgs)
		putWord(c.wordBuf[:], 0, c.width, uint64(res))
		if !c.copyOut(at+uint64(l.Result), c.wordBuf[:c.width]) {
			return errno(abi.EFAULT)
		}
		if c.out.Kind >= Offline {
			break
		}
	}
	return 0
}
