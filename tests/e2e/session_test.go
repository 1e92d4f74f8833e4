// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"io"
)

// step waits for text on the screen, then types.
type step struct{ see, typ string }

// session goes through steps. The machine writes from one goroutine.
type session struct {
	steps    []step
	keyboard io.Writer
	reached  func() // called after the last step; may be nil
	screen   bytes.Buffer
	from     int // where on the screen the present step looks
	done     int
}

// Write is the screen.
func (s *session) Write(p []byte) (int, error) {
	s.screen.Write(p)
	for s.done < len(s.steps) {
		st := s.steps[s.done]
		i := bytes.Index(s.screen.Bytes()[s.from:], []byte(st.see))
		if i < 0 {
			break
		}
		s.from += i + len(st.see)
		s.done++
		if st.typ != "" {
			go io.WriteString(s.keyboard, st.typ)
		}
		if s.done == len(s.steps) && s.reached != nil {
			s.reached()
		}
	}
	return len(p), nil
}

// left is how many steps were not reached; after the machine has ended.
func (s *session) left() int { return len(s.steps) - s.done }
