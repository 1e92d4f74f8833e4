// SPDX-License-Identifier: Apache-2.0

package warm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"xenvmm/tests/lab"
	"xenvmm/tests/lab/wire"
)

// Client runs programs in shared hosts.
type Client struct {
	// Config is the host; hooks in it (Console, Note) don't reach the server.
	Config lab.Config
	// Program is started as the server, with Args(cfg) and the listening socket
	// as descriptor 3; it calls Serve. Usually the running program.
	Program string
	Args    []string
	// Keep is how long the server stays after the last program; EndIfKilled, that
	// it doesn't when this client is killed or passes a signal on.
	Keep        time.Duration
	EndIfKilled bool
}

// errOver says that the server is ending: another is to be started.
var errOver = errors.New("the lab server is ending")

// attempts bounds how often a client meets a server that is just ending.
const attempts = 5

// Exec is lab.Host.Exec in the shared host, with a time limit (0: none) for
// the program alone: waiting for a turn doesn't count.
func (c *Client) Exec(ctx context.Context, cmd lab.Cmd, timeout time.Duration) (lab.ExitStatus, error) {
	r, err := newRequest(cmd, timeout, c.Keep, c.EndIfKilled)
	if err != nil {
		return lab.ExitStatus{}, err
	}
	a, err := addressOf(c.Config, c.Program)
	if err != nil {
		return lab.ExitStatus{}, err
	}
	for range attempts {
		conn, err := c.connect(ctx, a)
		if errors.Is(err, errOver) {
			continue
		}
		if err != nil {
			return lab.ExitStatus{}, err
		}
		st, err := talk(ctx, conn, r, cmd)
		_ = conn.Close()
		if !errors.Is(err, errOver) {
			return st, err
		}
	}
	log, _ := os.ReadFile(a.file(".log"))
	return lab.ExitStatus{}, fmt.Errorf("lab: the server for shared hosts doesn't stay: %s", strings.TrimSpace(string(log)))
}

// talk sends one request and serves it until its end.
func talk(ctx context.Context, c net.Conn, r Request, cmd lab.Cmd) (lab.ExitStatus, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	conn := wire.NewConn(c)
	err := conn.WriteJSON(wire.KindRun, 0, r)
	if err == nil {
		_, err = conn.Read() // KindReply: the request is taken
	}
	switch {
	case ctx.Err() != nil:
		return lab.ExitStatus{}, context.Cause(ctx)
	case err != nil:
		return lab.ExitStatus{}, errOver
	}
	credit := wire.NewWindow(wire.StreamWindow)
	defer credit.Close()
	if cmd.Stdin != nil {
		go sendInput(conn, cmd.Stdin, credit)
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case sig := <-cmd.Signals:
				if n, ok := sig.(syscall.Signal); ok {
					_ = conn.WriteUint32(wire.KindSignal, 0, uint32(n))
				}
			case <-done:
				return
			}
		}
	}()
	for {
		f, err := conn.Read()
		if err != nil {
			if ctx.Err() != nil {
				return lab.ExitStatus{}, context.Cause(ctx)
			}
			return lab.ExitStatus{}, &lab.HostError{Doing: "run " + r.Path, Err: fmt.Errorf("the lab server ended: %w", err)}
		}
		switch f.Kind {
		case wire.KindStdout:
			err = write(cmd.Stdout, f.Payload)
		case wire.KindStderr:
			err = write(cmd.Stderr, f.Payload)
		case wire.KindStdinCredit:
			if n, e := f.Uint32(); e == nil {
				credit.Give(int(n))
			}
		case wire.KindExit:
			var x result
			if err := f.JSON(&x); err != nil {
				return lab.ExitStatus{}, err
			}
			return x.Status, x.error(r.Path)
		}
		if err != nil {
			return lab.ExitStatus{}, fmt.Errorf("lab: pass on the program's output: %w", err)
		}
	}
}

func write(w io.Writer, p []byte) error {
	if w == nil {
		return nil
	}
	_, err := w.Write(p)
	return err
}

// sendInput sends r until its end or the program's.
func sendInput(conn *wire.Conn, r io.Reader, credit *wire.Window) {
	buf := make([]byte, wire.MaxData)
	for {
		n, err := r.Read(buf)
		for sent := 0; sent < n; {
			k, e := credit.Take(n - sent)
			if e != nil || conn.Write(wire.KindStdin, 0, buf[sent:sent+k]) != nil {
				return
			}
			sent += k
		}
		if err != nil {
			_ = conn.Write(wire.KindStdin, 0, nil)
			return
		}
	}
}
