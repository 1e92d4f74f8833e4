// SPDX-License-Identifier: Apache-2.0

// Package vcpu runs virtual CPUs: one locked operating-system thread each, the
// loop around KVM_RUN, the dispatch of its exits, and the ways to make a vCPU
// leave the guest.
//
// # Threads and rules
//
//   - Every KVM call on a vCPU is made by that vCPU's thread, because the kernel
//     makes any other caller wait until the vCPU leaves the guest. Other threads
//     hand work over with Group.Do, which waits until it is done.
//   - Kick makes a vCPU leave the guest: it sets kvm_run.immediate_exit, then
//     signals the thread (SIGURG, which the Go runtime installs a handler for and
//     tolerates at any time). The vCPU clears immediate_exit before it looks at
//     its requests, and a kicker sets its request before it kicks, so no request
//     is overlooked.
//   - Group.Pause returns when no vCPU is inside KVM_RUN, and none enters until
//     the returned function is called. A vCPU marks itself inside before it looks
//     at the gate, a pauser closes the gate before it looks at the marks: one of
//     the two always sees the other.
//   - A halted guest costs no CPU: HLT, SCHEDOP_block and SCHEDOP_poll all wait in
//     the kernel (KVM_MP_STATE_HALTED).
//   - The path of an exit allocates nothing and takes no lock that another vCPU
//     takes.
//
// A vCPU ends its Group by returning a Stop: the guest's or the host's reason,
// with the place where the guest was. The first one wins.
package vcpu
