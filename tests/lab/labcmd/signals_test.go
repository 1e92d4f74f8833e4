// SPDX-License-Identifier: Apache-2.0

package labcmd

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"xenvmm/tests/lab/warm"
)

// underTest has no channel from the operating system: take is called directly.
func underTest(t *testing.T) (ctx context.Context, s *signals, forced *int) {
	ctx, end := context.WithCancelCause(t.Context())
	t.Cleanup(func() { end(nil) })
	return ctx, &signals{in: make(chan os.Signal, 1), end: end}, new(int)
}

func ended(ctx context.Context) syscall.Signal {
	var sig warm.Interrupted
	errors.As(context.Cause(ctx), &sig)
	return sig.Signal
}

func TestASignalWithoutAProgramEndsTheCommand(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		ctx, s, _ := underTest(t)
		if s.take(sig) || ended(ctx) != sig {
			t.Errorf("%v: passed on, or ended by %v", sig, ended(ctx))
		}
		if err := interruption(ctx, errors.New("whatever came of it")); !errors.Is(err, warm.Interrupted{Signal: sig}) {
			t.Errorf("%v: the error is %v", sig, err)
		}
	}
}

func TestTheProgramGetsSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s, forced := underTest(t)
		s.ProgramStarts(func() { *forced++ })
		for range patience - 1 {
			if !s.take(syscall.SIGINT) {
				t.Error("it didn't get it")
			}
		}
		time.Sleep(time.Hour)
		if ctx.Err() != nil || *forced != 0 {
			t.Error("a program may take its time over SIGINT")
		}
		if s.take(syscall.SIGINT) || *forced != 1 || ended(ctx) != syscall.SIGINT {
			t.Errorf("many signals: forced %d, ended by %v", *forced, ended(ctx))
		}
	})
}

func TestAProgramThatIgnoresTheEndIsStopped(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		synctest.Test(t, func(t *testing.T) {
			ctx, s, forced := underTest(t)
			s.ProgramStarts(func() { *forced++ })
			if !s.take(sig) {
				t.Error("it didn't get it")
			}
			time.Sleep(endGrace - time.Nanosecond)
			synctest.Wait()
			if ctx.Err() != nil {
				t.Error("stopped too early")
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if ended(ctx) != sig || *forced != 0 {
				t.Errorf("ended by %v, forced %d", ended(ctx), *forced)
			}
		})
	}
}

func TestAProgramThatEndsInTimeIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s, _ := underTest(t)
		s.ProgramStarts(func() {})
		s.take(syscall.SIGTERM)
		s.ProgramEnded()
		time.Sleep(2 * endGrace)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Errorf("its results are lost: %v", context.Cause(ctx))
		}
	})
}

func TestCaughtSignalsArePassedOn(t *testing.T) {
	_, s, stop := catchSignals(t.Context())
	defer stop()
	s.ProgramStarts(func() {})
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if sig := <-s.ToProgram; sig != syscall.SIGHUP {
		t.Errorf("got %v", sig)
	}
}
