// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"

	"xenvmm/gpc"
	"xenvmm/gpc/srcu"
)

// waitPolicy says how guard srcu waits for a reader that is inside and does not
// leave at once.
func waitPolicy() string {
	means := map[srcu.Wait]string{
		srcu.WaitRseq:  "restartable sections",
		srcu.WaitFutex: "a futex per reader",
		srcu.WaitSleep: "short sleeps",
	}
	p, err := gpc.WaitPolicy()
	s := fmt.Sprintf("%s: spin, then %s", p, means[p])
	if err != nil {
		s += fmt.Sprintf(" (%v)", err)
	}
	return s
}
