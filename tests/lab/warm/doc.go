// SPDX-License-Identifier: Apache-2.0

// Package warm keeps a lab host running between programs, for `go test -exec`,
// which runs one program per package: each would otherwise pay for a boot.
//
// A server process owns one host and listens on a unix socket in the cache:
//
//	run/KEY.sock   the socket; KEY stands for configuration and program
//	run/KEY.lock   flock, held while a client looks for or starts a server
//	run/KEY.log    what the last server had to say
//
// The client that finds no server makes the listening socket and hands it to
// the server it starts, so connecting works from the first moment and a socket
// without a server is recognised by the refused connection. The server ends
// when it has been idle for as long as its last client wished, when its host
// ends, and on SIGTERM. Programs wait for each other, in order of arrival.
//
// A program ends with its client, and the host with the server, however they
// end.
package warm
