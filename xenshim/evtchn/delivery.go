// SPDX-License-Identifier: Apache-2.0

package evtchn

import "xenvmm/gpc"

// delivery is one event ABI: where in guest memory the state of ports lives and
// how an event gets there. A domain uses one at a time. Everything else, from
// bindings to latching, is the same for all.
//
// Methods with a Reader never block; their result says which memory is stale.
type delivery interface {
	// ports is the number of ports; valid numbers are below it.
	ports() uint32
	// prepare fills in the part of an entry that delivers it.
	prepare(e *entry)
	// raise sends an event to the port.
	raise(r *gpc.Reader, e *entry) gpc.Result
	// settle goes on with a raise or unmask that ended with StalePort.
	settle(r *gpc.Reader, e *entry) gpc.Result
	// resume makes the vCPU look at the port again; pending is set already.
	resume(r *gpc.Reader, e *entry) gpc.Result
	// unmask clears the mask of the port, and resumes it if that was set and
	// the port is pending.
	unmask(r *gpc.Reader, e *entry) gpc.Result
	// clear takes back an event that the guest has not seen.
	clear(r *gpc.Reader, port uint32) (ok bool)
	// pending reports whether the port is pending.
	pending(r *gpc.Reader, port uint32) (set, ok bool)
	// mark makes the vCPU look at all of its ports.
	mark(r *gpc.Reader, vcpu int) (ok bool)
	// refreshPort and refreshVCPU wait until the memory with the state of a
	// port, or of a vCPU, is there again.
	refreshPort(port uint32) error
	refreshVCPU(vcpu int) error
}
