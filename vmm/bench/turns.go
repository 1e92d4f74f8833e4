// SPDX-License-Identifier: Apache-2.0

package bench

import "fmt"

// takeTurns measures every row once in each round, so that whatever the machine
// does meanwhile concerns all of them. It returns how many measurements there
// were before the first that failed.
func takeTurns[R any](rounds int, rows []R, p Progress, name func(R) string, measure func(R) error) (done int, err error) {
	total := rounds * len(rows)
	for round := range rounds {
		for _, r := range rows {
			p.tell(done, total, fmt.Sprintf("round %d of %d: %s", round+1, rounds, name(r)))
			if err := measure(r); err != nil {
				return done, err
			}
			done++
		}
	}
	p.tell(total, total, "")
	return done, nil
}
