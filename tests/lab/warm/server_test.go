// SPDX-License-Identifier: Apache-2.0

package warm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"xenvmm/tests/lab"
)

// fakeHost runs programs that are Go functions, chosen by Cmd.Path.
type fakeHost struct {
	dead    chan struct{}
	once    sync.Once
	running atomic.Int32
	most    atomic.Int32
	began   chan string // each program's path, when it starts
}

func newFakeHost() *fakeHost {
	return &fakeHost{dead: make(chan struct{}), began: make(chan string, 100)}
}

func (h *fakeHost) Done() <-chan struct{} { return h.dead }
func (h *fakeHost) Close() error          { h.once.Do(func() { close(h.dead) }); return nil }

func (h *fakeHost) Exec(ctx context.Context, c lab.Cmd) (lab.ExitStatus, error) {
	n := h.running.Add(1)
	defer h.running.Add(-1)
	for m := h.most.Load(); n > m && !h.most.CompareAndSwap(m, n); m = h.most.Load() {
	}
	h.began <- c.Path
	switch filepath.Base(c.Path) {
	case "code":
		fmt.Fprint(c.Stdout, "out ", c.Args)
		fmt.Fprint(c.Stderr, "err")
		return lab.ExitStatus{Code: 7}, nil
	case "cat":
		_, err := io.Copy(c.Stdout, c.Stdin)
		return lab.ExitStatus{}, err
	case "crash":
		defer h.Close()
		return lab.ExitStatus{}, &lab.HostError{Doing: "run", Crash: "Oops: int3", Console: []string{"Oops: int3", "end"}, Err: errors.New("ended")}
	case "missing":
		return lab.ExitStatus{}, &lab.StartError{Path: c.Path, Errno: int(syscall.ENOENT), Msg: "no such file"}
	case "hang":
		for {
			select {
			case <-h.dead:
				return lab.ExitStatus{}, &lab.HostError{Doing: "run", Err: lab.ErrClosed}
			case <-ctx.Done():
				return lab.ExitStatus{}, context.Cause(ctx)
			case s := <-c.Signals:
				return lab.ExitStatus{Signal: s.(syscall.Signal), Code: 128 + int(s.(syscall.Signal))}, nil
			}
		}
	}
	return lab.ExitStatus{}, nil
}

// serving is a server in this process.
type serving struct {
	host *fakeHost
	name string
	done chan error
}

func serve(t *testing.T, keep time.Duration, boot func(context.Context) (Host, error)) *serving {
	t.Helper()
	before := goleak.IgnoreCurrent()
	s := &serving{host: newFakeHost(), name: filepath.Join(t.TempDir(), "s"), done: make(chan error, 1)}
	if boot == nil {
		boot = func(context.Context) (Host, error) { return s.host, nil }
	}
	l, err := net.Listen("unix", s.name)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		s.done <- Serve(ctx, l, boot, keep)
	}()
	t.Cleanup(func() {
		cancel()
		<-finished
		goleak.VerifyNone(t, before)
	})
	return s
}

func (s *serving) exec(ctx context.Context, c lab.Cmd, keep, timeout time.Duration) (lab.ExitStatus, error) {
	conn, err := net.Dial("unix", s.name)
	if err != nil {
		return lab.ExitStatus{}, err
	}
	defer conn.Close()
	r, err := newRequest(c, timeout, keep, false)
	if err != nil {
		return lab.ExitStatus{}, err
	}
	return talk(ctx, conn, r, c)
}

func TestProgramsRunAndReport(t *testing.T) {
	s := serve(t, time.Hour, nil)
	var out, errs bytes.Buffer
	st, err := s.exec(t.Context(), lab.Cmd{Path: "/code", Args: []string{"a"}, Stdout: &out, Stderr: &errs}, time.Hour, 0)
	if err != nil || st.Code != 7 || out.String() != "out [a]" || errs.String() != "err" {
		t.Errorf("%+v, %v, stdout %q, stderr %q", st, err, &out, &errs)
	}
	out.Reset()
	in := strings.Repeat("input ", 200000) // more than the credit
	if _, err := s.exec(t.Context(), lab.Cmd{Path: "/cat", Stdin: strings.NewReader(in), Stdout: &out}, time.Hour, 0); err != nil || out.String() != in {
		t.Errorf("%d bytes came through, %v", out.Len(), err)
	}
	_, err = s.exec(t.Context(), lab.Cmd{Path: "/missing"}, time.Hour, 0)
	if e := new(lab.StartError); !errors.As(err, &e) || e.Errno != int(syscall.ENOENT) {
		t.Errorf("missing program: %v", err)
	}
	if _, err = s.exec(t.Context(), lab.Cmd{Path: "/hang"}, time.Hour, time.Millisecond); !errors.Is(err, ErrTimeout) {
		t.Errorf("time limit: %v", err)
	}
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGTERM
	if st, err = s.exec(t.Context(), lab.Cmd{Path: "/hang", Signals: signals}, time.Hour, 0); err != nil || st.Signal != syscall.SIGTERM {
		t.Errorf("signal: %+v, %v", st, err)
	}
}

func TestProgramsWaitForEachOther(t *testing.T) {
	s := serve(t, time.Hour, nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if st, err := s.exec(t.Context(), lab.Cmd{Path: "/code"}, time.Hour, 0); err != nil || st.Code != 7 {
				t.Errorf("%+v, %v", st, err)
			}
		})
	}
	wg.Wait()
	if n := s.host.most.Load(); n != 1 {
		t.Errorf("%d programs ran at once", n)
	}
}

func TestAProgramEndsWithItsClient(t *testing.T) {
	s := serve(t, time.Hour, nil)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := s.exec(ctx, lab.Cmd{Path: "/hang"}, time.Hour, 0)
		gone <- err
	}()
	<-s.host.began
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := s.exec(t.Context(), lab.Cmd{Path: "/code"}, time.Hour, 0); err != nil {
		t.Errorf("the next program: %v", err)
	}
}

func TestACrashedHostIsReportedAndNotUsedAgain(t *testing.T) {
	s := serve(t, time.Hour, nil)
	_, err := s.exec(t.Context(), lab.Cmd{Path: "/crash"}, time.Hour, 0)
	e := new(lab.HostError)
	if !errors.As(err, &e) || !e.EmulatorFault() || len(e.Console) != 2 {
		t.Fatalf("%v", err)
	}
	if err := <-s.done; err != nil {
		t.Error(err)
	}
	if _, err := s.exec(t.Context(), lab.Cmd{Path: "/code"}, time.Hour, 0); err == nil {
		t.Error("the dead server took a program")
	}
}

func TestAFailedBootIsTold(t *testing.T) {
	boot := errors.New("no emulator")
	start := make(chan struct{})
	s := serve(t, time.Hour, func(context.Context) (Host, error) { <-start; return nil, boot })
	told := make(chan error)
	go func() {
		_, err := s.exec(t.Context(), lab.Cmd{Path: "/code"}, time.Hour, 0)
		told <- err
	}()
	go func() {
		time.AfterFunc(50*time.Millisecond, func() { close(start) })
	}()
	err := <-told
	if err == nil || !errors.Is(err, errOver) && !strings.Contains(err.Error(), "no emulator") {
		t.Errorf("client: %v", err)
	}
	if err := <-s.done; !errors.Is(err, boot) {
		t.Errorf("server: %v", err)
	}
}

func TestAnIdleServerEnds(t *testing.T) {
	s := serve(t, time.Hour, nil)
	if _, err := s.exec(t.Context(), lab.Cmd{Path: "/code"}, time.Millisecond, 0); err != nil {
		t.Fatal(err)
	}
	if err := <-s.done; err != nil {
		t.Error(err)
	}
	select {
	case <-s.host.dead:
	default:
		t.Error("the host is still there")
	}
}

func TestStopEndsRunningPrograms(t *testing.T) {
	s := serve(t, time.Hour, nil)
	ended := make(chan error)
	go func() {
		_, err := s.exec(t.Context(), lab.Cmd{Path: "/hang"}, time.Hour, 0)
		ended <- err
	}()
	<-s.host.began
	conn, err := net.Dial("unix", s.name)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := stop(conn); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("the program ended without an error")
	}
	if err := <-s.done; err != nil {
		t.Error(err)
	}
}

// TestSignalsBeforeTheProgramEndTheWait: nothing runs yet that could get them.
func TestSignalsBeforeTheProgramEndTheWait(t *testing.T) {
	release := make(chan struct{})
	var s *serving
	s = serve(t, time.Hour, func(ctx context.Context) (Host, error) {
		select {
		case <-release:
			return s.host, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	defer close(release)
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGINT
	_, err := s.exec(t.Context(), lab.Cmd{Path: "/code", Signals: signals}, time.Hour, 0)
	if !errors.Is(err, Interrupted{syscall.SIGINT}) {
		t.Errorf("while the host boots: %v", err)
	}
}

// TestAKilledClientTakesItsHostAlong, if that is what it asked for.
func TestAKilledClientTakesItsHostAlong(t *testing.T) {
	killed := func(t *testing.T, s *serving, signal bool) {
		t.Helper()
		conn, err := net.Dial("unix", s.name)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		r, err := newRequest(lab.Cmd{Path: "/hang"}, 0, time.Hour, true)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		signals := make(chan os.Signal, 1)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = talk(ctx, conn, r, lab.Cmd{Signals: signals})
		}()
		<-s.host.began
		if signal {
			signals <- syscall.SIGTERM
		} else {
			cancel()
		}
		<-done
		cancel()
	}
	for _, signal := range []bool{false, true} {
		s := serve(t, time.Hour, nil)
		killed(t, s, signal)
		if err := <-s.done; err != nil {
			t.Error(err)
		}
	}
}

// TestAnOrdinaryEndKeepsTheHost, also for a client that would take it along.
func TestAnOrdinaryEndKeepsTheHost(t *testing.T) {
	s := serve(t, time.Hour, nil)
	for range 3 {
		conn, err := net.Dial("unix", s.name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := newRequest(lab.Cmd{Path: "/code"}, 0, time.Hour, true)
		if err != nil {
			t.Fatal(err)
		}
		if st, err := talk(t.Context(), conn, r, lab.Cmd{}); err != nil || st.Code != 7 {
			t.Errorf("%+v, %v", st, err)
		}
		_ = conn.Close()
	}
	select {
	case <-s.done:
		t.Error("the server has ended")
	default:
	}
}
