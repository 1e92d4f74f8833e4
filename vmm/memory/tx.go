// SPDX-License-Identifier: Apache-2.0

package memory

import "fmt"

// tx is one change of the memory. Its body, run under Memory.mu, first declares
// what it is going to touch (invalidate), then takes steps, each with its
// inverse; what must not happen before success goes into onCommit (bookkeeping)
// and afterGrace (munmap).
type tx struct {
	m       *Memory
	started []notified
	undo    []func() error
	commit  []func()
	cleanup []func() error
	view    *view // nil: unchanged
}

type notified struct {
	n Notifier
	r Range
}

// change runs body as a transaction.
func (m *Memory) change(op string, body func(t *tx) error) error {
	t := tx{m: m}
	m.mu.Lock()
	err := m.usable()
	if err == nil {
		err = body(&t)
	}
	if err != nil {
		err = t.rollback(err)
	} else {
		t.finish()
	}
	m.mu.Unlock()
	t.end()
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// usable tells whether changes are possible. m.mu is held.
func (m *Memory) usable() error {
	switch {
	case m.broken != nil:
		return fmt.Errorf("%w: %w", ErrBroken, m.broken)
	case m.view.Load() == nil:
		return ErrClosed
	}
	return nil
}

// invalidate tells every notifier that the ranges are about to change. Should
// one refuse, those told before it are released at the end of the transaction.
func (t *tx) invalidate(ranges ...Range) error {
	for _, r := range ranges {
		for _, n := range t.m.notifiers {
			if err := n.InvalidateStart(r.GPA, r.Size, true); err != nil {
				return fmt.Errorf("invalidate [%#x, +%#x): %w", r.GPA, r.Size, err)
			}
			t.started = append(t.started, notified{n, r})
		}
	}
	return nil
}

// step does something and remembers how to undo it.
func (t *tx) step(do, undo func() error) error {
	if err := do(); err != nil {
		return err
	}
	t.undo = append(t.undo, undo)
	return nil
}

func (t *tx) onCommit(f func())         { t.commit = append(t.commit, f) }
func (t *tx) afterGrace(f func() error) { t.cleanup = append(t.cleanup, f) }

// next is the view as the transaction has it so far.
func (t *tx) next() *view {
	if t.view != nil {
		return t.view
	}
	return t.m.view.Load()
}

// finish makes a successful transaction visible, waits until no access can be
// using what it removed, and removes it. The change stands even if the host
// refuses to take something back: that is a leak to be logged, and an error here
// would make the caller believe in the old state.
func (t *tx) finish() {
	for _, f := range t.commit {
		f()
	}
	if t.view != nil {
		t.m.view.Store(t.view)
	}
	t.m.generation.Add(1)
	if len(t.cleanup) == 0 {
		return
	}
	t.m.readers.domain.Synchronize()
	for _, f := range t.cleanup {
		if err := f(); err != nil {
			t.m.log.Error("host memory of a guest page could not be freed", "err", err)
		}
	}
}

// rollback undoes the steps, last first. If a step cannot be undone, the memory
// is broken: nobody knows any more what the guest sees.
func (t *tx) rollback(cause error) error {
	for i := len(t.undo) - 1; i >= 0; i-- {
		if err := t.undo[i](); err != nil {
			t.m.broken = fmt.Errorf("%w; rollback: %w", cause, err)
			t.m.log.Error("guest memory change could not be undone", "cause", cause, "rollback", err)
			return fmt.Errorf("%w: %w", ErrBroken, t.m.broken)
		}
	}
	return cause
}

// end lets the notifiers go on. It runs without m.mu, because restore hooks may
// wait for threads that want it.
func (t *tx) end() {
	for i := len(t.started) - 1; i >= 0; i-- {
		t.started[i].n.InvalidateEnd(t.started[i].r.GPA, t.started[i].r.Size)
	}
}
