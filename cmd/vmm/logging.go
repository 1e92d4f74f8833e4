// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"log/slog"
	"runtime"
	"slices"

	"github.com/sirupsen/logrus"
)

// logFlags choose what is logged. Levels: error means something failed that
// nobody else reports; warn, that a result may not be what was asked for; info,
// what the program does; debug, what a guest does that is of no concern to
// anybody else.
type logFlags struct {
	LogLevel  string `name:"log-level" help:"Log to standard error: error, warn, info or debug." enum:"error,warn,info,debug" default:"warn"`
	LogFormat string `name:"log-format" help:"Form of the log: text or json." enum:"text,json" default:"text"`
}

// logger is what every package logs to: the standard library's interface in
// front, logrus behind it.
func (f logFlags) logger(w io.Writer) *slog.Logger {
	l := logrus.New()
	l.SetOutput(w)
	level, err := logrus.ParseLevel(f.LogLevel)
	if err != nil {
		level = logrus.WarnLevel
	}
	l.SetLevel(level)
	if f.LogFormat == "json" {
		l.SetFormatter(&logrus.JSONFormatter{})
	}
	return slog.New(&logrusHandler{logger: l})
}

// logrusHandler passes records of log/slog to logrus.
type logrusHandler struct {
	logger *logrus.Logger
	fields logrus.Fields
	prefix string
}

func logrusLevel(l slog.Level) logrus.Level {
	switch {
	case l >= slog.LevelError:
		return logrus.ErrorLevel
	case l >= slog.LevelWarn:
		return logrus.WarnLevel
	case l >= slog.LevelInfo:
		return logrus.InfoLevel
	}
	return logrus.DebugLevel
}

// Enabled implements slog.Handler.
func (h *logrusHandler) Enabled(_ context.Context, l slog.Level) bool {
	return h.logger.IsLevelEnabled(logrusLevel(l))
}

// Handle implements slog.Handler.
func (h *logrusHandler) Handle(ctx context.Context, r slog.Record) error {
	e := h.logger.WithContext(ctx).WithTime(r.Time).WithFields(h.fields)
	fields := logrus.Fields{}
	r.Attrs(func(a slog.Attr) bool {
		h.put(fields, a)
		return true
	})
	if r.PC != 0 && h.logger.IsLevelEnabled(logrus.DebugLevel) {
		f, _ := runtime.CallersFrames([]uintptr{r.PC}).Next()
		fields["func"] = f.Function
	}
	e.WithFields(fields).Log(logrusLevel(r.Level), r.Message)
	return nil
}

func (h *logrusHandler) put(fields logrus.Fields, a slog.Attr) {
	a.Value = a.Value.Resolve()
	if a.Value.Kind() == slog.KindGroup {
		sub := &logrusHandler{prefix: h.prefix + a.Key + "."}
		for _, b := range a.Value.Group() {
			sub.put(fields, b)
		}
		return
	}
	fields[h.prefix+a.Key] = a.Value.Any()
}

// WithAttrs implements slog.Handler.
func (h *logrusHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.fields = logrus.Fields{}
	for k, v := range h.fields {
		c.fields[k] = v
	}
	for _, a := range slices.Clone(attrs) {
		c.put(c.fields, a)
	}
	return &c
}

// WithGroup implements slog.Handler.
func (h *logrusHandler) WithGroup(name string) slog.Handler {
	c := *h
	c.prefix += name + "."
	return &c
}
