// SPDX-License-Identifier: Apache-2.0

package abi

// Xenstore message types: the first word of struct xsd_sockmsg
// (public/io/xs_wire.h).
const (
	XSControl            = 0 // formerly DEBUG
	XSDirectory          = 1
	XSRead               = 2
	XSGetPerms           = 3
	XSWatch              = 4
	XSUnwatch            = 5
	XSTransactionStart   = 6
	XSTransactionEnd     = 7
	XSIntroduce          = 8
	XSRelease            = 9
	XSGetDomainPath      = 10
	XSWrite              = 11
	XSMkdir              = 12
	XSRm                 = 13
	XSSetPerms           = 14
	XSWatchEvent         = 15
	XSError              = 16
	XSIsDomainIntroduced = 17
	XSResume             = 18
	XSSetTarget          = 19
	XSResetWatches       = 21
	XSDirectoryPart      = 22

	// XSHeaderSize is the size of struct xsd_sockmsg: type, req_id, tx_id and
	// the length of the payload, each a 32-bit word.
	XSHeaderSize = 16
)

// Bits of the server feature word and values of the connection and error
// words of the xenstore page (public/io/xs_wire.h, docs/misc/xenstore-ring.txt).
const (
	XenstoreFeatureReconnection = 1 << 0
	XenstoreFeatureError        = 1 << 1
	XenstoreFeatureWatchDepth   = 1 << 2

	XenstoreConnected = 0
	XenstoreReconnect = 1 // set by the guest, cleared by the server

	XenstoreErrorNone      = 0
	XenstoreErrorComm      = 1 // page or event channel unusable
	XenstoreErrorRingIndex = 2 // producer and consumer too far apart
	XenstoreErrorProtocol  = 3 // announced payload too long
)

// Values of the connection byte of the console page (public/io/console.h).
const (
	ConsoleConnected    = 0
	ConsoleDisconnected = 1
)
