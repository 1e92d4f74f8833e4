// SPDX-License-Identifier: Apache-2.0

//go:build race

package gpc

import "testing"

func TestAThreadReaderOnAnotherThreadIsNoticed(t *testing.T) {
	m := newGuestMemory(t, 1)
	s, _ := newTestSet(t, m, "srcu")
	c := activated(t, s, "c", 1*pageSize, pageSize)
	onRestartableThread(t, s, func(r *Reader) {
		r.Load32(c, 0)
		<-background(func() {
			defer func() {
				if recover() == nil {
					t.Error("not noticed")
				}
			}()
			r.Load32(c, 0)
		})
	})
}
