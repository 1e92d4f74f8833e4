// SPDX-License-Identifier: Apache-2.0

package chardev

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/term"
)

// Terminal remembers the state of a terminal, to put it back. All methods may
// be called from any goroutine, Restore any number of times.
type Terminal struct {
	fd int

	mu    sync.Mutex // guards saved
	saved *term.State
}

// NewTerminal describes f; it changes nothing. It returns nil if f is no
// terminal.
func NewTerminal(f *os.File) *Terminal {
	if f == nil || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &Terminal{fd: int(f.Fd())}
}

func (t *Terminal) is(f *os.File) bool { return t != nil && int(f.Fd()) == t.fd }

func (t *Terminal) raw() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.saved != nil {
		return nil
	}
	s, err := term.MakeRaw(t.fd)
	if err != nil {
		return fmt.Errorf("put the terminal into raw mode: %w", err)
	}
	t.saved = s
	return nil
}

// Restore puts the terminal back as it was; it does nothing if it was never
// changed. A nil Terminal is fine.
func (t *Terminal) Restore() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.saved == nil {
		return nil
	}
	s := t.saved
	t.saved = nil
	if err := term.Restore(t.fd, s); err != nil {
		return fmt.Errorf("restore the terminal: %w", err)
	}
	return nil
}

func makeRaw(f *os.File) error {
	if _, err := term.MakeRaw(int(f.Fd())); err != nil {
		return fmt.Errorf("put %s into raw mode: %w", f.Name(), err)
	}
	return nil
}
