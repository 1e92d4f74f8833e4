// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"xenvmm/gpc"
)

// A miniature run of everything: the drains that were measured are compared with
// what the Set counted, and a difference is an error.
func TestInvalidateMeasuresEveryGuardInEveryProfile(t *testing.T) {
	p, end := counting(t)
	r, err := Invalidate(context.Background(), InvalidateOptions{Duration: 2 * time.Millisecond, Repetitions: 1, Readers: 3}, p)
	if err != nil {
		t.Fatal(err)
	}
	end()
	wellFormed(t, r)
	var tables []string
	for i, table := range r.Tables {
		tables = append(tables, table.ID)
		for k, g := range gpc.BenchGuards() {
			n := uint64(cell(t, r, table.ID, []string{g}, "drains").Median)
			var buckets uint64
			for _, b := range r.Histograms[i].Series[k].Buckets {
				buckets += b.Count
			}
			if n == 0 || buckets != n {
				t.Errorf("%s, %s: %d drains, %d in the histogram", table.ID, g, n, buckets)
			}
			for _, how := range []string{"witnessed", "fenced"} {
				if v := cell(t, r, table.ID, []string{g}, how).Median; v < 0 || v > 1 || v > 0 && g != "srcu" {
					t.Errorf("%s, %s: %v of the drains; only srcu restarts sections", g, how, v)
				}
			}
			if missed := cell(t, r, table.ID, []string{g}, "missed").Median; g == limit && missed != 0 || g == "srcu-flip" && missed != 1 {
				t.Errorf("%s, %s: %v missed the fast path", table.ID, g, missed)
			}
			cell(t, r, table.ID, []string{g}, "p999_x_rwlock")
			cell(t, r, table.ID, []string{g}, "avg_x_flip")
		}
	}
	if want := []string{"flood", "flood-alone", "drain", "hot", "goroutines", "updaters", "pair"}; !slices.Equal(tables, want) {
		t.Errorf("tables %v, want %v", tables, want)
	}
	if v := cell(t, r, "flood", []string{"srcu-notry"}, "published_max"); v.Median != 6034e3 {
		t.Errorf("published: %v", v)
	}
}

func TestInvalidateDoesWhatIsAskedFor(t *testing.T) {
	for _, c := range []struct {
		name  string
		o     InvalidateOptions
		loads []string
	}{
		{"all", InvalidateOptions{}, []string{"flood", "flood-alone", "drain", "hot", "goroutines", "updaters", "pair"}},
		{"flood with readers", InvalidateOptions{Profiles: []string{ProfileFlood}, FloodReaders: ReadersOn}, []string{"flood"}},
		{"flood without", InvalidateOptions{Profiles: []string{ProfileFlood}, FloodReaders: ReadersOff}, []string{"flood-alone"}},
		{"two", InvalidateOptions{Profiles: []string{ProfileHot, ProfileDrain}}, []string{"drain", "hot"}},
	} {
		o, err := c.o.complete()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range o.loads() {
			got = append(got, l.id)
			if l.updaters() < 1 || l.title == "" {
				t.Errorf("%+v", l)
			}
		}
		if !slices.Equal(got, c.loads) {
			t.Errorf("%s: %v, want %v", c.name, got, c.loads)
		}
	}
	flood := InvalidateOptions{Profiles: []string{ProfileFlood}}.loads()[0]
	if flood.updaters() != 12 || flood.shared != 8 || flood.vcpus != 4 {
		t.Errorf("the flood is %+v", flood)
	}
}

func TestInvalidateEndsWithItsContext(t *testing.T) {
	endsEarly(t, func(ctx context.Context, p Progress) (*Report, error) {
		return Invalidate(ctx, InvalidateOptions{Profiles: []string{ProfilePair}, Guards: []string{"srcu"}, Duration: 20 * time.Millisecond}, p)
	})
}

func TestALongRepetitionEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r, err := Invalidate(ctx, InvalidateOptions{Profiles: []string{ProfileDrain}, Duration: time.Hour, Repetitions: 1}, func(s Step) {
		if s.Done == 0 {
			time.AfterFunc(5*time.Millisecond, cancel)
		}
	})
	if !errors.Is(err, context.Canceled) || r == nil || !r.Partial {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestDrainsThatDoNotAddUpAreAnError(t *testing.T) {
	m, err := newMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	d, err := newDomain(m, "srcu", []uint64{sharedAt(0)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	u := &updater{set: d.set, cache: d.shared[0], gpa: sharedAt(0), n: pageSize}
	for range 5 {
		if !u.drain() {
			t.Fatal(u.err)
		}
		d.set.InvalidateEnd(u.gpa, u.n)
	}
	if res, err := collect(d, []*updater{u}, nil, 1); err != nil || res.drains.n != 5 || res.missed != 0 {
		t.Errorf("%d drains, %v missed, %v", res.drains.n, res.missed, err)
	}
	_ = d.set.InvalidateStart(sharedAt(0), 1, true) // that nobody measures
	d.set.InvalidateEnd(sharedAt(0), 1)
	if _, err := collect(d, []*updater{u}, nil, 1); err == nil {
		t.Error("an invalidation that was not measured went unnoticed")
	}
}
