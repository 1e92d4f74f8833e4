// SPDX-License-Identifier: Apache-2.0

// Package xenstore is the configuration store that a Xen guest finds behind
// its xenstore page: a tree of small values with permissions, watches and
// transactions, and the wire protocol that carries it over a shared ring
// (docs/misc/xenstore.txt, docs/misc/xenstore-ring.txt, public/io/xs_wire.h).
//
// # Parts
//
// A Store holds the tree. The VMM's own code uses the methods of Store, which
// act with the rights of domain 0: everything is readable and writable and no
// quota applies. The guest is served by a Ring: one goroutine that moves bytes
// between the page and a connection of the Store. A connection acts with the
// rights of one domain and owns its watches, transactions and the queue of
// replies and events that the guest has not taken yet.
//
// # Rules
//
// Nodes are immutable: a change publishes a new node for the same path, so a
// transaction may keep what it has read and compare pointers when it ends.
// Every operation is written once against a view, which is either the tree
// itself or a transaction's overlay.
//
// The guest is hostile. Each index of the ring is loaded once per use and
// checked against this side's private copy of the other index; message bytes
// are copied out of the ring before they are looked at. What a guest can make
// the Store keep is bounded by Quotas, replies included: a guest that doesn't
// take its replies is not read from any more. Ring errors end the connection
// as docs/misc/xenstore-ring.txt says and leave it to the guest to reconnect.
//
// # Concurrency
//
// All methods of Store and Ring may be called from any goroutine. Store.mu
// guards tree, connections and watches; it is a leaf lock, and no callback
// runs under it. Ring.Kick and the notifications of host watches never block.
package xenstore
