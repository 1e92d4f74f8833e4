// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// How long the port's driver may take to bind and to see its peer. Nothing
// tells when it won't any more.
const portTimeout = 20 * time.Second

// openPort opens the virtio-serial port of that name.
func openPort(name string) (io.ReadWriter, error) {
	for start := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		files, _ := filepath.Glob("/sys/class/virtio-ports/*/name")
		for _, f := range files {
			p, err := os.ReadFile(f)
			if err != nil || strings.TrimSpace(string(p)) != name {
				continue
			}
			dev := filepath.Join("/dev", filepath.Base(filepath.Dir(f)))
			fd, err := unix.Open(dev, unix.O_RDWR|unix.O_CLOEXEC, 0)
			if err != nil {
				return nil, fmt.Errorf("control channel: %s: %w", dev, err)
			}
			return &port{fd: fd, opened: time.Now()}, nil
		}
		if time.Since(start) > portTimeout {
			return nil, fmt.Errorf("control channel: no virtio-serial port %q", name)
		}
	}
}

// port is the channel with blocking system calls: the netpoller would take a
// port whose peer is not yet connected for hung up.
type port struct {
	fd     int
	opened time.Time
	alive  bool // data has come
}

func (p *port) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(p.fd, b)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
			continue
		case err != nil:
			return 0, fmt.Errorf("control channel: %w", err)
		case n > 0:
			p.alive = true
			return n, nil
		case p.alive || time.Since(p.opened) > portTimeout:
			return 0, io.EOF
		}
		time.Sleep(2 * time.Millisecond) // the peer's connection isn't announced yet
	}
}

func (p *port) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, err := unix.Write(p.fd, b[done:])
		if err == unix.EINTR || err == unix.EAGAIN {
			continue
		}
		if err != nil {
			return done, fmt.Errorf("control channel: %w", err)
		}
		done += n
	}
	return done, nil
}
