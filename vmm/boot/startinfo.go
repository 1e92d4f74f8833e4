// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"xenvmm/xenshim/abi"
)

// infoLayout is where the parts of the boot block stand, relative to its
// start. Everything the guest needs before it has set up its own memory is in
// this one block.
type infoLayout struct {
	Range
	memmap, modlist, cmdline uint64   // offsets
	moduleCmdlines           []uint64 // offsets, 0 for none
}

// reserveInfo sizes the boot block and places it: in conventional memory if it
// fits, else at the lowest place above 1 MiB.
func (pl *planner) reserveInfo() (infoLayout, error) {
	var l infoLayout
	at := uint64(abi.StartInfoSize)
	take := func(n int) uint64 {
		at = (at + 7) &^ 7
		off := at
		at += uint64(n)
		return off
	}
	l.memmap = take(len(pl.img.MemoryMap) * abi.MemmapEntrySize)
	l.modlist = take(len(pl.p.Initrds) * abi.ModlistEntrySize)
	l.cmdline = take(len(pl.p.Cmdline) + 1)
	for _, f := range pl.p.Initrds {
		off := uint64(0)
		if f.Cmdline != "" {
			off = take(len(f.Cmdline) + 1)
		}
		l.moduleCmdlines = append(l.moduleCmdlines, off)
	}
	l.Size = at
	var ok bool
	if l.GPA, ok = pl.free.lowest(Range{infoLow, legacyStart - infoLow}, l.Size, pageSize); !ok {
		if l.GPA, ok = pl.free.lowest(Range{legacyEnd, fourGiB - legacyEnd}, l.Size, pageSize); !ok {
			return l, fmt.Errorf("boot: start info: %w", pl.noRoom(l.Size))
		}
	}
	pl.free = pl.free.remove(l.Range)
	return l, nil
}

// writeInfo encodes the boot block (public/arch-x86/hvm/start_info.h).
func (pl *planner) writeInfo(l infoLayout, modules []Range) {
	p := make([]byte, l.Size)
	le := binary.LittleEndian
	le.PutUint32(p[abi.StartInfoOffMagic:], abi.StartInfoMagic)
	le.PutUint32(p[abi.StartInfoOffVersion:], abi.StartInfoVersion)
	le.PutUint32(p[abi.StartInfoOffModules:], uint32(len(modules)))
	if len(modules) != 0 {
		le.PutUint64(p[abi.StartInfoOffModlist:], l.GPA+l.modlist)
	}
	le.PutUint64(p[abi.StartInfoOffCmdline:], l.GPA+l.cmdline)
	le.PutUint64(p[abi.StartInfoOffRSDP:], pl.img.RSDP)
	le.PutUint64(p[abi.StartInfoOffMemmap:], l.GPA+l.memmap)
	le.PutUint32(p[abi.StartInfoOffMemmapSize:], uint32(len(pl.img.MemoryMap)))
	for i, e := range pl.img.MemoryMap {
		q := p[l.memmap+uint64(i)*abi.MemmapEntrySize:]
		le.PutUint64(q[abi.MemmapOffAddr:], e.GPA)
		le.PutUint64(q[abi.MemmapOffSize:], e.Size)
		le.PutUint32(q[abi.MemmapOffType:], uint32(e.Type))
	}
	for i, r := range modules {
		q := p[l.modlist+uint64(i)*abi.ModlistEntrySize:]
		le.PutUint64(q[abi.ModlistOffAddr:], r.GPA)
		le.PutUint64(q[abi.ModlistOffSize:], r.Size)
		if off := l.moduleCmdlines[i]; off != 0 {
			le.PutUint64(q[abi.ModlistOffCmdline:], l.GPA+off)
			copy(p[off:], pl.p.Initrds[i].Cmdline)
		}
	}
	copy(p[l.cmdline:], pl.p.Cmdline)
	pl.img.StartInfo = l.GPA
	pl.img.Layout = append(pl.img.Layout, Placed{Range: l.Range, Name: "start info, memory map, modules, command line", src: bytes.NewReader(p), content: l.Size})
}
