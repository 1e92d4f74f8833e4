// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"errors"
	"sync"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// features are what the server can do, told to the guest before the first
// byte moves.
const features = abi.XenstoreFeatureReconnection | abi.XenstoreFeatureError | abi.XenstoreFeatureWatchDepth

// stepsPerKick bounds the work done before the ring looks for a stop again.
const stepsPerKick = 64

var (
	errRingIndex = errors.New("producer and consumer are more than a ring apart")
	errProtocol  = errors.New("payload longer than 4096 bytes announced")
)

// Ring serves one guest's xenstore page. Its goroutine owns all fields below
// the channels. The indices this side advances live here and are only ever
// written to the page, so the guest cannot move them.
type Ring struct {
	store  *Store
	conn   *conn
	page   Page
	notify func()

	kick  chan struct{} // capacity 1: kicks coalesce
	stop  chan struct{}
	done  chan struct{}
	close sync.Once

	reqCons uint32 // request bytes taken
	rspProd uint32 // response bytes given
	begun   bool   // the page has been found and set up
	dead    bool   // a ring error ended the connection; waits for a reconnect
	failure uint32 // the error code that the page does not show yet; 0: none

	in  [abi.XSHeaderSize + abi.XenstorePayloadMax]byte // the request being assembled
	inN uint32                                          // bytes of it so far
	hdr header                                          // valid once inN >= XSHeaderSize

	out      []byte // what is left of the message being sent
	outReply bool
}

// NewRing connects the guest to its page and starts serving it. notifyGuest
// signals the guest's event channel; it runs on the ring's goroutine and must
// not block. The ring begins with the indices it finds in the page, so a page
// that was in use may be taken over between two messages.
func NewRing(s *Store, page Page, notifyGuest func()) *Ring {
	r := &Ring{
		store: s, page: page, notify: notifyGuest,
		kick: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	r.conn = s.connect(cred{dom: s.domain}, r.Kick)
	_ = r.start() // if it can't be done, the first kick tries again
	s.setIntroduced(true)
	go r.run()
	r.Kick() // requests that were there before
	return r
}

// ended ends the connection if err is one that ends it. Nothing that may fail
// changes the ring's own state before what it does in the page is complete, so
// that after any other error, which says that the page is away, it is done again
// at the next kick.
func (r *Ring) ended(err error) bool {
	if err == nil || gpc.Away(err) {
		return false
	}
	r.fail(err)
	return true
}

func (r *Ring) start() (err error) {
	if r.reqCons, err = r.page.Load32(abi.XenstoreReqCons); err != nil {
		return err
	}
	if r.rspProd, err = r.page.Load32(abi.XenstoreRspProd); err != nil {
		return err
	}
	for _, w := range [][2]uint32{
		{abi.XenstoreFeatures, features},
		{abi.XenstoreError, abi.XenstoreErrorNone},
		{abi.XenstoreConnection, abi.XenstoreConnected},
	} {
		if err = r.page.Store32(w[0], w[1]); err != nil {
			return err
		}
	}
	r.begun = true
	return nil
}

// Kick says that the guest has signalled its event channel. It never blocks;
// kicks that come while one is waiting are merged into it.
func (r *Ring) Kick() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// Close stops serving and ends the guest's watches and transactions. It
// returns when the goroutine has ended; it may be called more than once.
func (r *Ring) Close() {
	r.close.Do(func() {
		close(r.stop)
		<-r.done
		r.store.disconnect(r.conn)
		r.store.setIntroduced(false)
	})
	<-r.done
}

func (r *Ring) run() {
	defer close(r.done)
	for {
		select {
		case <-r.stop:
			return
		case <-r.kick:
			r.serve()
		}
	}
}

// serve moves what can be moved, in bounded steps, and signals the guest once
// if anything did.
func (r *Ring) serve() {
	if !r.begun && !r.dead {
		if err := r.start(); r.ended(err) || err != nil {
			return
		}
	}
	if r.reconnect() || r.dead {
		r.showFailure()
		return
	}
	moved := false
	for range stepsPerKick {
		some, err := r.step()
		moved = moved || some
		if r.ended(err) {
			return
		}
		if err != nil || !some {
			if moved {
				r.notify()
			}
			return
		}
	}
	r.notify()
	r.Kick() // more to do: come back after a look at stop
}

// step moves messages out and a part of a request in.
func (r *Ring) step() (moved bool, err error) {
	sent, err := r.send()
	if err != nil {
		return sent, err
	}
	took, err := r.take()
	return sent || took, err
}

// send moves waiting messages into the ring until it is full or none is left.
func (r *Ring) send() (moved bool, err error) {
	for {
		if len(r.out) == 0 && !r.nextMessage() {
			return moved, nil
		}
		cons, err := r.page.Load32(abi.XenstoreRspCons)
		if err != nil {
			return moved, err
		}
		used := r.rspProd - cons
		if used > ringSize {
			return moved, errRingIndex
		}
		n := min(uint32(len(r.out)), ringSize-used)
		if n == 0 {
			return moved, nil // the guest signals when it has made room
		}
		if err = writeRing(r.page, r.out[:n], r.rspProd); err != nil {
			return moved, err
		}
		if err = r.page.Store32(abi.XenstoreRspProd, r.rspProd+n); err != nil {
			return moved, err
		}
		r.rspProd += n
		moved = true
		if r.out = r.out[n:]; len(r.out) == 0 && r.outReply {
			r.outReply = false
			r.store.locked(r.conn.queue.taken)
		}
	}
}

func (r *Ring) nextMessage() bool {
	var it item
	var ok bool
	r.store.locked(func() { it, ok = r.conn.queue.next() })
	if ok {
		r.out, r.outReply = it.message(), it.reply != nil
	}
	return ok
}

// take moves bytes of the next request out of the ring and, when it is whole,
// carries it out. It takes none while too many replies wait.
func (r *Ring) take() (moved bool, err error) {
	for {
		if r.inN == 0 && r.full() {
			return moved, nil
		}
		prod, err := r.page.Load32(abi.XenstoreReqProd)
		if err != nil {
			return moved, err
		}
		avail := prod - r.reqCons
		if avail > ringSize {
			return moved, errRingIndex
		}
		need := uint32(abi.XSHeaderSize)
		if r.inN >= need {
			need += r.hdr.size
		}
		n := min(avail, need-r.inN)
		if n == 0 {
			return moved, nil
		}
		if err = readRing(r.page, r.in[r.inN:r.inN+n], r.reqCons); err != nil {
			return moved, err
		}
		if err = r.page.Store32(abi.XenstoreReqCons, r.reqCons+n); err != nil {
			return moved, err
		}
		r.reqCons += n
		r.inN += n
		moved = true
		if r.inN == abi.XSHeaderSize {
			r.hdr = decodeHeader(r.in[:])
			if r.hdr.size > abi.XenstorePayloadMax {
				return moved, errProtocol
			}
			need += r.hdr.size
		}
		if r.inN == need && need >= abi.XSHeaderSize {
			r.store.locked(func() { r.conn.handle(r.hdr, r.in[abi.XSHeaderSize:r.inN]) })
			r.inN = 0
			return moved, nil // let the reply out first
		}
	}
}

func (r *Ring) full() (full bool) {
	r.store.locked(func() { full = r.conn.queue.replies >= r.store.quotas.Outstanding })
	return full
}
