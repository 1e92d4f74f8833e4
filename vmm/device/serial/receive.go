// SPDX-License-Identifier: Apache-2.0

package serial

import "io"

// Room is how many bytes Input would take now.
func (u *UART) Room() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.free()
}

// Input offers bytes to the guest and returns how many were taken; the rest
// must be offered again when there is room.
func (u *UART) Input(p []byte) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return 0
	}
	n := min(len(p), u.free())
	for _, b := range p[:n] {
		u.push(b)
	}
	u.updateLine()
	u.hadRoom = u.enoughRoom()
	return n
}

// Line is the host's end of the UART's receive line.
type Line struct{ u *UART }

// Line returns the host's end, an io.Writer that feeds the guest.
func (u *UART) Line() Line { return Line{u} }

// Write hands all of p to the guest, waiting while there is no room. After
// Close of the UART it returns io.ErrClosedPipe and how many bytes went in. It
// is what io.Copy needs to feed a terminal or a file into the guest.
func (l Line) Write(p []byte) (n int, err error) {
	u := l.u
	u.mu.Lock()
	defer u.mu.Unlock()
	for {
		if u.closed {
			return n, io.ErrClosedPipe
		}
		for n < len(p) && u.free() > 0 {
			u.push(p[n])
			n++
		}
		u.updateLine()
		u.hadRoom = u.enoughRoom()
		if n == len(p) {
			return n, nil
		}
		u.room.Wait()
	}
}

// Close ends all waiting writes. The registers go on answering the guest.
func (u *UART) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	u.room.Broadcast()
	return nil
}

// free is how much room there is for bytes from outside: none while the guest
// does not want any.
func (u *UART) free() int {
	if u.mcr&mcrRTS == 0 || u.mcr&mcrLoop != 0 {
		return 0
	}
	return u.capacity() - u.rxLen
}

func (u *UART) capacity() int {
	if u.fifo {
		return fifoSize
	}
	return 1
}

// push receives a byte. A full FIFO keeps what it has and the new byte is
// lost; a single holding register is overwritten.
func (u *UART) push(b byte) {
	if u.rxLen == u.capacity() {
		u.overrun = true
		if !u.fifo {
			u.rx[u.rxHead] = b
		}
		return
	}
	u.rx[(u.rxHead+u.rxLen)%fifoSize] = b
	u.rxLen++
}

// pop reads the receive buffer; when it is empty the last byte is read again.
func (u *UART) pop() byte {
	b := u.rx[u.rxHead]
	if u.rxLen > 0 {
		u.rxLen--
		if u.rxLen > 0 {
			u.rxHead = (u.rxHead + 1) % fifoSize
		}
	}
	return b
}

// enoughRoom is when waiting writers are woken: not for every byte that the
// guest reads, but when half the FIFO is free. A guest reads on as long as
// there is data, so it gets there.
func (u *UART) enoughRoom() bool { return u.free() >= (u.capacity()+1)/2 }

// settle follows every register access: the line, and whoever waits for room.
func (u *UART) settle() {
	u.updateLine()
	has := u.enoughRoom()
	if has && !u.hadRoom {
		u.room.Broadcast()
		if u.onRoom != nil {
			u.onRoom()
		}
	}
	u.hadRoom = has
}
