// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTheRouteMessageIsWellFormed: layouts of <linux/netlink.h> and <linux/rtnetlink.h>.
func TestTheRouteMessageIsWellFormed(t *testing.T) {
	gateway := netip.MustParseAddr("10.0.2.2")
	const header = unix.SizeofNlMsghdr + unix.SizeofRtMsg
	b := routeMessage(gateway)
	if len(b) != header+8 || int(b[0]) != len(b) || b[4] != unix.RTM_NEWROUTE {
		t.Fatalf("% x", b)
	}
	rtmsg, attr := b[unix.SizeofNlMsghdr:header], b[header:]
	if rtmsg[0] != unix.AF_INET || rtmsg[1] != 0 || rtmsg[4] != unix.RT_TABLE_MAIN || rtmsg[7] != unix.RTN_UNICAST {
		t.Errorf("route % x", rtmsg)
	}
	if attr[0] != 8 || attr[2] != unix.RTA_GATEWAY || netip.AddrFrom4([4]byte(attr[4:])) != gateway {
		t.Errorf("attribute % x", attr)
	}
}

func TestADeviceWithoutADriverIsNamed(t *testing.T) {
	if _, err := interfaceOf("ffff:ff:1f.7"); err == nil {
		t.Error("no error")
	}
}
