// SPDX-License-Identifier: Apache-2.0

package rseq

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// libcLayout is where glibc 2.35 and newer keep the areas of their threads:
// __rseq_offset bytes from the thread pointer (sys/rseq.h). It is the same for
// all threads and does not change while the process lives.
var libcLayout struct {
	once   sync.Once
	offset uintptr
	size   uint32 // __rseq_size, the bytes in use
	err    error
}

// attachLibc returns the area that glibc has registered for the calling thread,
// which is registered. Nothing that was found out is relied on: the kernel
// confirms address, length and signature, or the area is not used.
func attachLibc() (*Area, error) {
	l := &libcLayout
	l.once.Do(func() { l.offset, l.size, l.err = findLibc() })
	if l.err != nil {
		return nil, &Error{"rseq(2)", fmt.Errorf("the thread is registered already, and not by glibc as far as can be seen: %w", l.err), withoutLibc}
	}
	fs, err := threadPointer()
	if err != nil {
		return nil, &Error{"arch_prctl(ARCH_GET_FS)", err, permit}
	}
	at := fs + l.offset
	// Before 2.40 the length is the original one, later that of the kernel's
	// features, rounded up.
	for _, size := range []uint32{areaSize, (l.size + 31) &^ 31, (l.size + 63) &^ 63} {
		if register(at, size, 0) == syscall.EBUSY {
			return &Area{at: at}, nil
		}
	}
	return nil, &Error{"rseq(2)", fmt.Errorf("glibc's area at %#x is not what the kernel has for this thread", at), withoutLibc}
}

const withoutLibc = "set GLIBC_TUNABLES=glibc.pthread.rseq=0, or build with CGO_ENABLED=0"

// findLibc reads the two variables that tell, which the dynamic loader exports,
// out of the process's memory.
func findLibc() (offset uintptr, size uint32, err error) {
	objects, err := mappedLibraries()
	if err != nil {
		return 0, 0, err
	}
	for _, o := range objects {
		at, err := o.symbols("__rseq_offset", "__rseq_size")
		if err != nil {
			continue
		}
		return uintptr(loadWord(at[0])), uint32(loadWord(at[1])), nil
	}
	return 0, 0, fmt.Errorf("none of %d mapped libraries has __rseq_offset", len(objects))
}

// A library is a mapped file and the address ranges of its mappings.
type library struct {
	path   string
	base   uintptr // of the file's first byte
	ranges [][2]uintptr
}

// mappedLibraries lists what may be glibc's loader or the library itself.
func mappedLibraries() ([]*library, error) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	byPath := map[string]*library{}
	var all []*library
	for s := bufio.NewScanner(f); s.Scan(); {
		var start, end, off uintptr
		var perms, dev, inode, path string
		if n, _ := fmt.Sscanf(s.Text(), "%x-%x %s %x %s %s %s", &start, &end, &perms, &off, &dev, &inode, &path); n < 7 {
			continue
		}
		if name := filepath.Base(path); !strings.HasPrefix(name, "ld") && !strings.HasPrefix(name, "libc.so") {
			continue
		}
		l := byPath[path]
		if l == nil {
			l = &library{path: path}
			byPath[path] = l
			all = append(all, l)
		}
		if off == 0 {
			l.base = start
		}
		if strings.HasPrefix(perms, "r") {
			l.ranges = append(l.ranges, [2]uintptr{start, end})
		}
	}
	return all, nil
}

// symbols returns the addresses of variables of the library, and fails unless
// all are there and are mapped.
func (l *library) symbols(names ...string) ([]uintptr, error) {
	f, err := elf.Open(l.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	syms, err := f.DynamicSymbols()
	if err != nil {
		return nil, err
	}
	at := make([]uintptr, len(names))
	for i, name := range names {
		for _, s := range syms {
			if s.Name == name && s.Section != elf.SHN_UNDEF {
				at[i] = l.base + uintptr(s.Value)
			}
		}
		if !l.mapped(at[i], 8) {
			return nil, fmt.Errorf("%s: no variable %s", l.path, name)
		}
	}
	return at, nil
}

func (l *library) mapped(at, n uintptr) bool {
	for _, r := range l.ranges {
		if r[0] <= at && at+n <= r[1] {
			return true
		}
	}
	return false
}
