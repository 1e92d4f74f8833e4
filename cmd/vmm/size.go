// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// size is an amount of memory in bytes, as a flag.
type size uint64

const sizeSyntax = "a number with K, M, G or T (MiB without one)"

// UnmarshalText reads 128M, 2G, 4096K, or a plain number of MiB.
func (s *size) UnmarshalText(b []byte) error {
	text := string(b)
	t := strings.ToUpper(strings.TrimSpace(text))
	t = strings.TrimSuffix(strings.TrimSuffix(t, "B"), "I")
	shift := 20
	if i := strings.IndexAny(t, "KMGT"); i >= 0 && i == len(t)-1 {
		shift = 10 * (1 + strings.IndexByte("KMGT", t[i]))
		t = t[:i]
	}
	n, err := strconv.ParseUint(t, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is no amount of memory; give %s", text, sizeSyntax)
	}
	hi, lo := bits.Mul64(n, 1<<shift)
	if hi != 0 {
		return fmt.Errorf("%q is more memory than 64 bits can count; give less", text)
	}
	*s = size(lo)
	return nil
}
