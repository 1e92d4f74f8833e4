// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"xenvmm/tests/lab/kernel"
	"xenvmm/tests/lab/wire"
)

// Host is a booted lab host.
type Host struct {
	cfg     Config
	kernel  *kernel.Kernel
	on      platform
	hello   wire.Hello
	proc    *process
	console console
	channel *os.File
	conn    *wire.Conn
	window  []byte

	transfer sync.Mutex // owns the window

	mu      sync.Mutex
	lastID  uint32
	calls   map[uint32]chan wire.Reply
	streams map[uint32]*stream
	closed  bool

	dead    chan struct{} // closed when the channel or the emulator has ended
	deadErr error         // valid after dead
	killer  sync.Once
}

// ErrClosed is the reason of whatever Close cut short.
var ErrClosed = errors.New("the lab host was closed")

// Start boots a host and returns when it is ready to run programs. ctx bounds
// the boot only; Close ends the host.
func Start(ctx context.Context, cfg Config) (*Host, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	spec, err := kernel.Find(cfg.Kernel)
	if err != nil {
		return nil, err
	}
	if !spec.Host {
		return nil, fmt.Errorf("lab: %s is a kernel for guests, not for a lab host: see `vmm lab list`", spec.Name)
	}
	ways, err := platforms(cfg.Accel, nestedKVM)
	if err != nil {
		return nil, err
	}
	k, err := kernel.Open(cfg.Kernel)
	if err != nil && errors.Is(err, kernel.ErrNotSetUp) && !cfg.NoSetup {
		k, err = kernel.Setup(ctx, cfg.Kernel, kernel.SetupOptions{Note: cfg.Note})
	}
	if err != nil {
		return nil, err
	}
	qemu, err := exec.LookPath(kernel.QEMU)
	if err != nil {
		return nil, fmt.Errorf("lab: %w: run `vmm lab setup`", err)
	}
	for attempt := 1; ; attempt++ {
		h, err := boot(ctx, cfg, k, ways[0], qemu)
		// Nothing has run yet, so booting again hides no fault of a program.
		var fault *HostError
		switch {
		case err == nil || !errors.As(err, &fault) || ctx.Err() != nil:
			return h, err
		case len(ways) > 1:
			cfg.Note("hardware KVM does not run the host, using the emulator: %v", err)
			ways, attempt = ways[1:], 0
		case !fault.EmulatorFault() || attempt == bootAttempts:
			return h, err
		default:
			cfg.Note("booting again: %v", err)
		}
	}
}

// bootAttempts bounds how often a host is booted when the emulator, by its
// known fault, crashes it before it is ready.
const bootAttempts = 3

// boot starts a host and waits until it is ready.
func boot(ctx context.Context, cfg Config, k *kernel.Kernel, on platform, qemu string) (*Host, error) {
	h := &Host{cfg: cfg, kernel: k, on: on, calls: map[uint32]chan wire.Reply{}, streams: map[uint32]*stream{}, dead: make(chan struct{})}
	h.console.copy = cfg.Console
	hello, err := h.launch(ctx, qemu)
	if err != nil {
		return nil, err
	}
	limit := time.NewTimer(cfg.BootLimit)
	defer limit.Stop()
	select {
	case h.hello = <-hello:
	case <-h.dead:
		err = h.failure("boot", nil)
	case <-limit.C:
		err = h.failure("boot", fmt.Errorf("not ready after %v", cfg.BootLimit))
	case <-ctx.Done():
		err = h.failure("boot", context.Cause(ctx))
	}
	switch {
	case err != nil:
	case h.hello.Error != "":
		err = h.failure("boot", errors.New(h.hello.Error))
	case h.hello.Version != wire.Version || h.hello.Window != windowSize:
		err = h.failure("boot", errors.New("the init is of another version than the library"))
	case h.hello.CPUs != cfg.CPUs:
		err = h.failure("boot", fmt.Errorf("%d of %d CPUs came up", h.hello.CPUs, cfg.CPUs))
	}
	if err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// launch starts the emulator and the goroutines that listen to it.
func (h *Host) launch(ctx context.Context, qemu string) (<-chan wire.Hello, error) {
	var opened []*os.File
	defer func() {
		for _, f := range opened {
			_ = f.Close()
		}
	}()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "channel")
	opened = append(opened, theirs)
	if err := unix.SetNonblock(pair[0], true); err != nil {
		_ = unix.Close(pair[0])
		return nil, os.NewSyscallError("fcntl", err)
	}
	h.channel = os.NewFile(uintptr(pair[0]), "channel")
	windowFile, err := memfd("window", windowSize)
	if err != nil {
		_ = h.channel.Close()
		return nil, err
	}
	opened = append(opened, windowFile)
	initrd, err := makeInitramfs(ctx, h.cfg, h.kernel, h.on)
	if err != nil {
		_ = h.channel.Close()
		return nil, err
	}
	opened = append(opened, initrd)
	if h.window, err = unix.Mmap(int(windowFile.Fd()), 0, windowSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		_ = h.channel.Close()
		return nil, fmt.Errorf("lab: map the transfer window: %w", err)
	}
	cmd := exec.Command(qemu, qemuArgs(h.cfg, h.kernel, h.on)...)
	cmd.Stdout, cmd.Stderr = &h.console, &h.console
	cmd.ExtraFiles = []*os.File{theirs, windowFile, initrd}
	if h.proc, err = startProcess(cmd); err != nil {
		_ = h.channel.Close()
		_ = unix.Munmap(h.window)
		return nil, fmt.Errorf("lab: start the emulator: %w", err)
	}
	h.conn = wire.NewConn(h.channel)
	hello := make(chan wire.Hello, 1)
	go h.listen(hello)
	return hello, nil
}

// listen passes on what the init says, until the end.
func (h *Host) listen(hello chan<- wire.Hello) {
	err := h.dispatch(hello)
	// A crash's last words come by way of the emulator's end: the kernel is
	// told to end it at once.
	if err == io.EOF {
		select {
		case <-h.proc.done:
		case <-time.After(10 * time.Second):
		}
	}
	h.proc.kill()
	h.mu.Lock()
	if h.closed {
		err = ErrClosed
	}
	h.deadErr = err
	close(h.dead)
	for _, s := range h.streams {
		s.credit.Close()
	}
	h.mu.Unlock()
}

func (h *Host) dispatch(hello chan<- wire.Hello) error {
	for {
		f, err := h.conn.Read()
		if err != nil {
			if errors.Is(err, unix.ECONNRESET) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = io.EOF
			}
			return err
		}
		switch f.Kind {
		case wire.KindHello:
			var m wire.Hello
			if err := f.JSON(&m); err != nil {
				return err
			}
			select {
			case hello <- m:
			default:
				return errors.New("the init started twice")
			}
		case wire.KindReply:
			var r wire.Reply
			if err := f.JSON(&r); err != nil {
				return err
			}
			h.mu.Lock()
			c := h.calls[f.ID]
			delete(h.calls, f.ID)
			h.mu.Unlock()
			if c != nil {
				c <- r
			}
		default:
			h.mu.Lock()
			s := h.streams[f.ID]
			h.mu.Unlock()
			if s != nil {
				if err := s.take(f); err != nil {
					return err
				}
			}
		}
	}
}

// failure makes the error for a host that doesn't do what it should.
func (h *Host) failure(doing string, err error) error {
	select {
	case <-h.dead:
		if err == nil {
			err = h.deadErr
		}
		if err == io.EOF {
			err = errors.New("the host ended")
		}
	default:
	}
	return &HostError{Doing: doing, Crash: h.console.crashed(), Console: h.console.lines(), Err: err}
}

// Close kills the emulator and waits for its end.
func (h *Host) Close() error {
	h.killer.Do(func() {
		h.mu.Lock()
		h.closed = true
		h.mu.Unlock()
		h.proc.kill()
		_ = h.channel.Close()
		<-h.dead
		h.transfer.Lock() // whoever uses the window finishes first
		defer h.transfer.Unlock()
		_ = unix.Munmap(h.window)
		h.window = nil
	})
	return nil
}

// Done is closed when the host has ended, for whatever reason.
func (h *Host) Done() <-chan struct{} { return h.dead }

// Console returns the last lines of the host's console.
func (h *Host) Console() []string { return h.console.lines() }

// Panicked returns the console line that tells of a kernel crash.
func (h *Host) Panicked() (line string, yes bool) {
	line = h.console.crashed()
	return strings.TrimSpace(line), line != ""
}

// Kernel is the host's kernel release.
func (h *Host) Kernel() string { return h.hello.Kernel }

// Accel is AccelKVM or AccelEmulator: what the host runs on.
func (h *Host) Accel() Accel { return h.on.accel }

// PID is the emulator's process id.
func (h *Host) PID() int { return h.proc.cmd.Process.Pid }

// call asks the init for something.
func (h *Host) call(ctx context.Context, c wire.Call) (wire.Reply, error) {
	reply := make(chan wire.Reply, 1)
	h.mu.Lock()
	h.lastID++
	id := h.lastID
	h.calls[id] = reply
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.calls, id)
		h.mu.Unlock()
	}()
	if err := h.conn.WriteJSON(wire.KindCall, id, c); err != nil {
		<-h.deadOr(ctx)
		return wire.Reply{}, h.failure("send a request", nil)
	}
	select {
	case r := <-reply:
		return r, nil
	case <-h.dead:
		return wire.Reply{}, h.failure("wait for an answer", nil)
	case <-ctx.Done():
		return wire.Reply{}, context.Cause(ctx)
	}
}

// deadOr is for after a failed write: the reader learns why a moment later.
func (h *Host) deadOr(ctx context.Context) <-chan struct{} {
	select {
	case <-h.dead:
		return h.dead
	case <-ctx.Done():
		return ctx.Done()
	case <-time.After(10 * time.Second):
		c := make(chan struct{})
		close(c)
		return c
	}
}
