// SPDX-License-Identifier: Apache-2.0

package chardev

const ctrlA = 0x01

// escapeReader passes keys on and takes out the escape sequences.
type escapeReader struct {
	*interruptible
	quit    func()
	escaped bool // the last byte was an escape
}

// Read implements io.Reader. It may return 0 bytes without an error, when all
// that was read belonged to an escape sequence.
func (e *escapeReader) Read(p []byte) (int, error) {
	n, err := e.interruptible.Read(p)
	out := 0
	for _, c := range p[:n] {
		if !e.escaped {
			if c == ctrlA {
				e.escaped = true
				continue
			}
			p[out] = c
			out++
			continue
		}
		e.escaped = false
		switch c {
		case 'x', 'X':
			if e.quit != nil {
				e.quit()
			}
		case ctrlA:
			p[out] = ctrlA
			out++
		}
	}
	return out, err
}
