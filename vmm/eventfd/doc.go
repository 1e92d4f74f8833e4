// SPDX-License-Identifier: Apache-2.0

// Package eventfd turns writes to eventfds into calls on a thread of its own.
//
// An Event owns one eventfd. A Waiter owns one locked operating-system thread
// that waits on many descriptors with epoll and calls the Sink of each that
// became readable. Timer descriptors work too: they are read the same way.
//
// A goroutine on Go's network poller would do the same with less code, but it
// needs a free P to run: with every P busy it was measured to wake 40 ms late,
// where a blocked thread wakes in tens of microseconds. A waiter can also poll
// busily for a while after each event (Options.BusyPoll), which takes the
// wake-up to below a microsecond at the price of a CPU.
//
// # Rules
//
//   - A Sink runs on the waiter's thread and must not block for long: every
//     other source of that waiter waits behind it.
//   - A Sink gets the value that the waiter's setup function made (its Local):
//     state that belongs to one thread, such as a gpc reader.
//   - Source.Close returns only when the sink is not running and never will
//     again. It must not be called from the sink itself.
//   - The path from a readable descriptor to the sink allocates nothing and
//     takes no lock but the source's own.
package eventfd
