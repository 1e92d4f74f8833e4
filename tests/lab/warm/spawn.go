// SPDX-License-Identifier: Apache-2.0

package warm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"xenvmm/tests/lab/kernel"
	"xenvmm/tests/lab/wire"
)

// listenerFD is the descriptor on which a server finds its socket.
const listenerFD = 3

// Listener is the socket that a client handed to this process, its server.
func Listener() (net.Listener, error) {
	f := os.NewFile(listenerFD, "listener")
	if f == nil {
		return nil, errors.New("lab: no listening socket was passed as descriptor 3")
	}
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("lab: descriptor 3 is not a listening socket: %w", err)
	}
	return l, nil
}

// connect returns a connection to the server of a, which is started if needed.
// errOver: it ended at once.
func (c *Client) connect(ctx context.Context, a address) (net.Conn, error) {
	unlock, err := kernel.Lock(ctx, a.file(".lock"), nil)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if conn, err := dial(ctx, a); err == nil {
		return conn, nil
	}
	_ = os.Remove(a.file(".sock")) // left by a server that has ended
	sweep(ctx, a)
	if err := c.spawn(a); err != nil {
		return nil, err
	}
	conn, err := dial(ctx, a)
	if err != nil && ctx.Err() == nil {
		err = errOver // it has ended already
	}
	return conn, err
}

// unused is the age from which files of a server that isn't there are removed.
const unused = 24 * time.Hour

// sweep removes what servers of other programs and configurations left long
// ago: every build of a program has a key of its own.
func sweep(ctx context.Context, own address) {
	locks, _ := filepath.Glob(filepath.Join(own.dir, "*.lock"))
	for _, l := range locks {
		a := address{own.dir, strings.TrimSuffix(filepath.Base(l), ".lock")}
		st, err := os.Stat(a.file(".log"))
		if a.key == own.key || err == nil && time.Since(st.ModTime()) < unused {
			continue
		}
		if conn, err := dial(ctx, a); err == nil {
			_ = conn.Close()
			continue
		}
		for _, ext := range []string{".sock", ".log", ".lock"} {
			_ = os.Remove(a.file(ext))
		}
	}
}

func dial(ctx context.Context, a address) (conn net.Conn, err error) {
	err = a.viaDescriptor(func(name string) (e error) {
		conn, e = new(net.Dialer).DialContext(ctx, "unix", name)
		return e
	})
	return conn, err
}

// spawn starts a server that outlives this process.
func (c *Client) spawn(a address) error {
	var l *net.UnixListener
	err := a.viaDescriptor(func(name string) (e error) {
		l, e = net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
		return e
	})
	if err != nil {
		return fmt.Errorf("lab: socket for shared hosts: %w", err)
	}
	defer l.Close()
	l.SetUnlinkOnClose(false)
	socket, err := l.File()
	if err != nil {
		return err
	}
	defer socket.Close()
	log, err := os.Create(a.file(".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(c.Program, c.Args...)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{socket}
	// Not a member of the terminal's session, nor of the test run's group.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("lab: start the server for shared hosts: %w", err)
	}
	return cmd.Process.Release()
}

// Stop ends every server of this user's cache and returns how many there were.
func Stop(ctx context.Context) (int, error) {
	dir, err := runDir()
	if err != nil {
		return 0, err
	}
	sockets, err := filepath.Glob(filepath.Join(dir, "*.sock"))
	if err != nil {
		return 0, err
	}
	n := 0
	for _, s := range sockets {
		a := address{dir, strings.TrimSuffix(filepath.Base(s), ".sock")}
		c, err := dial(ctx, a)
		if err != nil {
			continue // nobody there
		}
		if stop(c) == nil {
			n++
		}
		_ = c.Close()
	}
	return n, nil
}

// stopLimit bounds the end of a server.
const stopLimit = 30 * time.Second

// stop asks the server behind c to end, and waits.
func stop(c net.Conn) error {
	if err := c.SetDeadline(time.Now().Add(stopLimit)); err != nil {
		return err
	}
	conn := wire.NewConn(c)
	if err := conn.WriteJSON(wire.KindRun, 0, Request{Stop: true}); err != nil {
		return err
	}
	if _, err := conn.Read(); err != nil {
		return err
	}
	if _, err := conn.Read(); err != io.EOF { // the server closes when all has ended
		return err
	}
	return nil
}
