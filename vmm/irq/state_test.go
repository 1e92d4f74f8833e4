// SPDX-License-Identifier: Apache-2.0

package irq

import "testing"

func TestStateNamesTheWayAndTheDebt(t *testing.T) {
	f, c := newFake(2)
	set := func(cb Callback) {
		if err := c.SetCallback(cb); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []struct {
		what  string
		do    func()
		how   [2]string
		owed0 bool
	}{
		{"at boot", func() {}, [2]string{"nothing", "nothing"}, false},
		{"a line", func() { set(Callback{Type: CallbackGSI, GSI: 10}) }, [2]string{"line 10", "nothing"}, false},
		{"an INTx pin", func() { set(Callback{Type: CallbackINTx, Device: 1, Pin: 1}) }, [2]string{"line 21", "nothing"}, false},
		{"a callback vector", func() { set(Callback{Type: CallbackVector, Vector: 0xd3}) }, [2]string{"callback vector 0xd3", "callback vector 0xd3"}, false},
		{"an upcall by it", func() { c.Upcall(0) }, [2]string{"callback vector 0xd3", "callback vector 0xd3"}, true},
		{"a vector of its own", func() { c.SetVector(0, 0xf3) }, [2]string{"vector 0xf3", "callback vector 0xd3"}, true},
		{"presented", func() { f.pending[0] = true; c.Retry() }, [2]string{"vector 0xf3", "callback vector 0xd3"}, false},
	} {
		s.do()
		for v, how := range s.how {
			if got, owed := c.State(v); got != how || owed != (v == 0 && s.owed0) {
				t.Errorf("%s: vcpu %d by %s, owed %v; want %s, %v", s.what, v, got, owed, how, v == 0 && s.owed0)
			}
		}
	}
	if how, owed := c.State(2); how != "nothing" || owed {
		t.Errorf("a vcpu that does not exist: by %s, owed %v", how, owed)
	}
}
