// SPDX-License-Identifier: Apache-2.0

package xenstore

import "xenvmm/xenshim/abi"

// queue holds what a connection has to say and its peer hasn't taken, in
// order. Replies are bounded because requests stop when too many wait; events
// because equal ones are queued once, and because from a limit on each watch
// gets a single further event, with its own path ("something at or below here
// has changed"), instead of one per changed path.
type queue struct {
	items   []item
	head    int
	events  map[eventKey]struct{}
	replies int
	limit   int // events from which on they coarsen
}

// item is an encoded reply, or an event that is encoded when it is sent.
type item struct {
	reply []byte
	event eventKey
}

type eventKey struct {
	w    *watch
	path string
}

func (q *queue) reply(b []byte) {
	q.items = append(q.items, item{reply: b})
	q.replies++
}

// event queues a notification for w, unless the same one is waiting already:
// the peer can't have acted on that one yet, so it will see this change too.
func (q *queue) event(w *watch, path string) {
	k := eventKey{w, path}
	if _, dup := q.events[k]; dup {
		return
	}
	if len(q.events) >= q.limit {
		if w.coarse {
			return
		}
		w.coarse = true
		k.path = w.path
		if _, dup := q.events[k]; dup {
			return
		}
	}
	if q.events == nil {
		q.events = map[eventKey]struct{}{}
	}
	q.events[k] = struct{}{}
	q.items = append(q.items, item{event: k})
}

// next takes the first message that is still worth sending.
func (q *queue) next() (item, bool) {
	for q.head < len(q.items) {
		it := q.items[q.head]
		q.items[q.head] = item{}
		q.head++
		if it.reply != nil {
			q.compact()
			return it, true
		}
		if it.event.w.gone {
			continue // already taken out of events by forget
		}
		delete(q.events, it.event)
		if it.event.path == it.event.w.path {
			it.event.w.coarse = false
		}
		q.compact()
		return it, true
	}
	q.compact()
	return item{}, false
}

// compact lets go of taken items, so that a queue that is never quite empty
// doesn't grow.
func (q *queue) compact() {
	switch {
	case q.head == len(q.items):
		q.head = 0
		if cap(q.items) > 64 {
			q.items = nil
		} else {
			q.items = q.items[:0]
		}
	case q.head >= 64 && q.head*2 >= len(q.items):
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
}

// forget drops the events of a watch that is being unregistered.
func (q *queue) forget(w *watch) {
	keep := q.items[:q.head]
	for _, it := range q.items[q.head:] {
		if it.reply == nil && it.event.w == w {
			delete(q.events, it.event)
			continue
		}
		keep = append(keep, it)
	}
	clear(q.items[len(keep):])
	q.items = keep
}

// taken is called when a reply has gone out completely.
func (q *queue) taken() { q.replies-- }

// reset drops everything.
func (q *queue) reset() { *q = queue{limit: q.limit} }

// message encodes an item for the wire.
func (it item) message() []byte {
	if it.reply != nil {
		return it.reply
	}
	w := it.event.w
	return header{typ: abi.XSWatchEvent}.encode(cstring(w.shown(it.event.path)), cstring(w.token))
}
