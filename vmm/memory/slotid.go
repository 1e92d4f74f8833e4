// SPDX-License-Identifier: Apache-2.0

package memory

import "fmt"

// slotIDs hands out KVM slot numbers and takes them back.
type slotIDs struct {
	limit int
	next  uint32
	free  []uint32
}

func (s *slotIDs) take() (uint32, error) {
	if n := len(s.free); n > 0 {
		id := s.free[n-1]
		s.free = s.free[:n-1]
		return id, nil
	}
	if int(s.next) >= s.limit {
		return 0, fmt.Errorf("%w: all %d are in use", ErrNoSlots, s.limit)
	}
	s.next++
	return s.next - 1, nil
}

func (s *slotIDs) give(id uint32) { s.free = append(s.free, id) }
