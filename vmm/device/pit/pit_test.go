// SPDX-License-Identifier: Apache-2.0

package pit

import "testing"

// pit_expect_msb in Linux: counts reads while the counter's high byte is the one
// expected, of which it wants more than five.
func TestCalibrationByAnAbsentTimerFailsAtOnce(t *testing.T) {
	var d Absent
	d.Write(3, []byte{0xb0}) // counter 2, low and high byte, mode 0
	d.Write(2, []byte{0xff})
	d.Write(2, []byte{0xff})
	p := []byte{0xaa, 0xaa}
	for i := range p {
		d.Read(2, p[i:i+1])
	}
	if p[1] == 0xff {
		t.Error("the high byte is that of a counter that has just started")
	}
	if p[0] != 0 || p[1] != 0 {
		t.Errorf("the counter stands at % x, want 0", p)
	}
}
