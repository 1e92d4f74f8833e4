// SPDX-License-Identifier: Apache-2.0

package bench

import "time"

// begin starts a report. finish, called once at the end, adds how long it took
// and what the machine did meanwhile.
func begin(name, title string, params []Param) (r *Report, finish func()) {
	r = &Report{Name: name, Title: title, Env: environment(), Params: params}
	start := time.Now()
	from, ok := readMachineTime()
	return r, func() {
		r.Elapsed = time.Since(start)
		if to, ok2 := readMachineTime(); ok && ok2 {
			r.Noise.Steal, r.Noise.Foreign = taken(from, to)
		}
	}
}

// tell reports progress to whoever wants to know.
func (p Progress) tell(done, total int, what string) {
	if p != nil {
		p(Step{done, total, what})
	}
}
