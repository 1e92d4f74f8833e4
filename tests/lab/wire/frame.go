// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Kind says what a frame's payload is.
type Kind uint8

// The kinds of frames. Host means the side that started the machine.
const (
	KindHello       Kind = 1 + iota // init to host, once: JSON Hello
	KindCall                        // host to init: JSON Call
	KindReply                       // init to host: JSON Reply
	KindStdin                       // host to init: bytes; empty: end of input
	KindStdout                      // init to host: bytes
	KindStderr                      // init to host: bytes
	KindStdinCredit                 // init to host: uint32, bytes consumed
	KindCredit                      // host to init: uint32, bytes of output consumed
	KindSignal                      // host to init: uint32, signal number
	KindExit                        // init to host: JSON Exit
	KindRun                         // client to server: JSON, defined by the server
	KindResize                      // host to init: uint32, rows<<16 | columns of the program's terminal
	kindEnd
)

const (
	// MaxPayload bounds one frame, in bytes.
	MaxPayload = 4 << 20
	// MaxData is the most a sender puts into one stream frame, in bytes.
	MaxData    = 32 << 10
	headerSize = 9
)

// Frame is one message. Payload is the receiver's to keep.
type Frame struct {
	Kind    Kind
	ID      uint32
	Payload []byte
}

// Conn frames a byte stream.
type Conn struct {
	r   *bufio.Reader
	w   io.Writer
	mu  sync.Mutex // one writer at a time
	buf []byte     // header and payload leave in one Write; guarded by mu
}

// NewConn frames rw. It doesn't own rw: closing is the caller's.
func NewConn(rw io.ReadWriter) *Conn {
	return &Conn{r: bufio.NewReaderSize(rw, 64<<10), w: rw}
}

// Read returns the next frame, io.EOF at a clean end between frames,
// io.ErrUnexpectedEOF inside one.
func (c *Conn) Read() (Frame, error) {
	var h [headerSize]byte
	if _, err := io.ReadFull(c.r, h[:]); err != nil {
		return Frame{}, err
	}
	n := binary.LittleEndian.Uint32(h[0:])
	f := Frame{Kind: Kind(h[4]), ID: binary.LittleEndian.Uint32(h[5:])}
	if n > MaxPayload {
		return Frame{}, fmt.Errorf("frame of %d bytes: the limit is %d", n, MaxPayload)
	}
	if f.Kind == 0 || f.Kind >= kindEnd {
		return Frame{}, fmt.Errorf("frame of unknown kind %d", f.Kind)
	}
	if n == 0 {
		return f, nil
	}
	f.Payload = make([]byte, n)
	if _, err := io.ReadFull(c.r, f.Payload); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, err
	}
	return f, nil
}

// Write sends one frame. payload isn't kept.
func (c *Conn) Write(k Kind, id uint32, payload []byte) error {
	if len(payload) > MaxPayload {
		return fmt.Errorf("frame of %d bytes: the limit is %d", len(payload), MaxPayload)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buf = append(c.buf[:0], make([]byte, headerSize)...)
	binary.LittleEndian.PutUint32(c.buf[0:], uint32(len(payload)))
	c.buf[4] = byte(k)
	binary.LittleEndian.PutUint32(c.buf[5:], id)
	c.buf = append(c.buf, payload...)
	_, err := c.w.Write(c.buf)
	return err
}

// WriteJSON sends v as the payload of one frame.
func (c *Conn) WriteJSON(k Kind, id uint32, v any) error {
	p, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode frame of kind %d: %w", k, err)
	}
	return c.Write(k, id, p)
}

// WriteUint32 sends a frame of one number.
func (c *Conn) WriteUint32(k Kind, id, v uint32) error {
	return c.Write(k, id, binary.LittleEndian.AppendUint32(nil, v))
}

// Uint32 reads the number a frame of WriteUint32 carries.
func (f Frame) Uint32() (uint32, error) {
	if len(f.Payload) != 4 {
		return 0, fmt.Errorf("frame of kind %d holds %d bytes, want 4", f.Kind, len(f.Payload))
	}
	return binary.LittleEndian.Uint32(f.Payload), nil
}

// JSON decodes the payload into v.
func (f Frame) JSON(v any) error {
	if err := json.Unmarshal(f.Payload, v); err != nil {
		return fmt.Errorf("frame of kind %d: %w", f.Kind, err)
	}
	return nil
}
