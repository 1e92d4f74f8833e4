// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"errors"

	"xenvmm/xenshim/abi"
)

// fail ends the connection after a ring error: the guest's watches and
// transactions go, the error word says why, and nothing is served until the
// guest asks for a reconnect (docs/misc/xenstore-ring.txt, "connection error
// feature").
func (r *Ring) fail(cause error) {
	code := uint32(abi.XenstoreErrorComm)
	switch {
	case errors.Is(cause, errRingIndex):
		code = abi.XenstoreErrorRingIndex
	case errors.Is(cause, errProtocol):
		code = abi.XenstoreErrorProtocol
	}
	r.dead, r.failure = true, code
	r.forget()
	r.store.log.Debug("xenstore connection ended", "domain", r.store.domain, "cause", cause)
	r.showFailure()
}

// showFailure tells the guest the error that ended the connection, unless it has
// been told.
func (r *Ring) showFailure() {
	if r.failure != 0 && r.page.Store32(abi.XenstoreError, r.failure) == nil {
		r.failure = 0
		r.notify()
	}
}

// reconnect resets the connection if the guest has asked for it, and reports
// whether it had. The guest looks at nothing but the connection word until
// that is 0 again, so it is written last.
func (r *Ring) reconnect() bool {
	state, err := r.page.Load32(abi.XenstoreConnection)
	if err != nil || state != abi.XenstoreReconnect {
		return false
	}
	r.forget()
	if err := r.restart(); r.ended(err) || err != nil {
		return true
	}
	r.reqCons, r.rspProd, r.begun, r.dead, r.failure = 0, 0, true, false, 0
	r.notify()
	return true
}

// restart sets the page up for a new connection.
func (r *Ring) restart() error {
	for _, w := range [][2]uint32{
		{abi.XenstoreReqCons, 0}, {abi.XenstoreReqProd, 0}, {abi.XenstoreRspCons, 0}, {abi.XenstoreRspProd, 0},
		{abi.XenstoreFeatures, features},
		{abi.XenstoreError, abi.XenstoreErrorNone},
		{abi.XenstoreConnection, abi.XenstoreConnected},
	} {
		if err := r.page.Store32(w[0], w[1]); err != nil {
			return err
		}
	}
	return nil
}

// forget drops partial messages and all state the guest has in the store.
func (r *Ring) forget() {
	r.inN, r.out, r.outReply = 0, nil, false
	r.store.locked(r.conn.drop)
}
