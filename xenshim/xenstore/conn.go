// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"strconv"

	"xenvmm/xenshim/abi"
)

// conn is one client of the Store: a ring, or a host watch. Store.mu guards it.
type conn struct {
	store   *Store
	who     cred
	home    string // where relative paths start
	watches []*watch
	queue   queue
	open    map[uint32]*transaction
	lastTx  uint32
	wake    func() // tells the owner that the queue has become worth looking at
}

// post queues an event and notes that the owner must be woken.
func (c *conn) post(w *watch, path string) {
	c.queue.event(w, path)
	c.store.waking[c] = struct{}{}
}

// begin opens a transaction and returns its id, which is never 0.
func (c *conn) begin() (uint32, abi.Errno) {
	if !c.who.privileged && len(c.open) >= c.store.quotas.Transactions {
		return 0, abi.ENOSPC
	}
	for {
		c.lastTx++
		if _, used := c.open[c.lastTx]; c.lastTx != 0 && !used {
			break
		}
	}
	if c.open == nil {
		c.open = map[uint32]*transaction{}
	}
	t := newTransaction(c.store, c.who.dom, &c.store.quotas)
	c.open[c.lastTx] = t
	c.store.open[t] = struct{}{}
	return c.lastTx, abi.OK
}

// reset ends all watches and transactions, as RESET_WATCHES asks for. Replies
// that wait stay, events of the watches do not.
func (c *conn) reset() {
	for _, w := range c.watches {
		w.gone = true
	}
	for _, t := range c.open {
		delete(c.store.open, t)
	}
	c.watches, c.open = nil, nil
	keep := c.queue.items[:c.queue.head]
	for _, it := range c.queue.items[c.queue.head:] {
		if it.reply != nil {
			keep = append(keep, it)
		}
	}
	clear(c.queue.items[len(keep):])
	c.queue.items, c.queue.events = keep, nil
}

// drop ends everything, waiting replies included.
func (c *conn) drop() {
	c.reset()
	c.queue.reset()
}

// reply queues the answer to h. A payload over the limit becomes E2BIG, which
// tells a client of DIRECTORY to use DIRECTORY_PART.
func (c *conn) reply(h header, payload []byte) {
	if len(payload) > abi.XenstorePayloadMax {
		c.fail(h, abi.E2BIG)
		return
	}
	c.queue.reply(h.encode(payload))
}

func (c *conn) fail(h header, e abi.Errno) {
	h.typ = abi.XSError
	c.queue.reply(h.encode(cstring(errorName(e))))
}

func formatID(id uint32) []byte { return cstring(strconv.FormatUint(uint64(id), 10)) }
