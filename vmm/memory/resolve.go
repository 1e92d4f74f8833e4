// SPDX-License-Identifier: Apache-2.0

package memory

import "fmt"

// Resolve is the host address of [gpa, gpa+n), which must be non-empty and lie
// in one page (gpc.Resolver). The page is present and writable when it returns,
// so that a first access does not fault. The address is good until the
// InvalidateStart that covers it has returned from the notifier through which
// the caller hears of changes; without a notifier it must not be used. It waits
// for no lock.
func (m *Memory) Resolve(gpa, n uint64) (uintptr, error) {
	if n == 0 || n > PageSize || gpa&pageMask+n > PageSize {
		return 0, resolveError(gpa, n)
	}
	e, v, err := m.enter()
	if err != nil {
		return 0, err
	}
	r := v.find(gpa)
	if r == nil {
		e.exit()
		return 0, accessError("resolve", gpa, n)
	}
	touch(r.base, gpa-r.gpa)
	hva := address(at(r.base, gpa-r.gpa))
	e.exit()
	return hva, nil
}

//go:noinline
func resolveError(gpa, n uint64) error {
	return fmt.Errorf("resolve [%#x, +%#x): %w: not within one page", gpa, n, ErrRange)
}
