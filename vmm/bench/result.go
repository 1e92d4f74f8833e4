// SPDX-License-Identifier: Apache-2.0

package bench

import "time"

// A Report is what one benchmark found. It is plain data: text tables, JSON and
// plots are made from it and from nothing else.
type Report struct {
	Name       string        `json:"name"`  // "delivery": stable, fit for a file name
	Title      string        `json:"title"` // one line for people
	Env        Env           `json:"env"`
	Params     []Param       `json:"params"`
	Elapsed    time.Duration `json:"elapsed_ns"`
	Partial    bool          `json:"partial,omitempty"` // ended before all was measured
	Noise      Noise         `json:"noise"`
	Tables     []Table       `json:"tables"`
	Histograms []Histogram   `json:"histograms,omitempty"`
	Plots      []Plot        `json:"plots,omitempty"`
	Notes      []string      `json:"notes,omitempty"`
	Targets    []Target      `json:"targets,omitempty"`
}

// A Param is one setting that the run was made with, in the order of display.
type Param struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Kind says what the numbers of a column or an axis are, and with that their
// base unit and how they read best.
type Kind string

const (
	Label    Kind = "label"    // text only
	Count    Kind = "count"    // a whole number of things
	Rate     Kind = "rate"     // things per second
	Duration Kind = "duration" // nanoseconds
	Ratio    Kind = "ratio"    // one measurement divided by another
	Share    Kind = "share"    // a part of a whole, 0 to 1
)

// A Column heads the cells of one kind of number.
type Column struct {
	ID        string `json:"id"`   // unique in its table: "ns", "x_rwlock"
	Name      string `json:"name"` // what people read
	Kind      Kind   `json:"kind"`
	Published bool   `json:"published,omitempty"` // figures of others, not measured here
}

// A Number is a median over rounds with its spread, in the unit of its Kind.
type Number struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	N      int     `json:"n"` // how many rounds it is the median of
}

// A Cell holds a number, or a text, or a number that text qualifies. Without
// either it is empty: nothing was measured.
type Cell struct {
	Number *Number `json:"number,omitempty"`
	Text   string  `json:"text,omitempty"`
}

// A Table has one Cell per Column in each row. Cells of Label columns come
// first and name the row.
type Table struct {
	ID      string   `json:"id"` // unique in its report, fit for a file name
	Title   string   `json:"title"`
	Columns []Column `json:"columns"`
	Rows    [][]Cell `json:"rows"`
	Notes   []string `json:"notes,omitempty"` // what has to be known to read it
}

// A Histogram counts durations per guard in buckets that double in width.
type Histogram struct {
	ID     string            `json:"id"`
	Title  string            `json:"title"`
	Series []HistogramSeries `json:"series"`
}

// A HistogramSeries is the distribution of one guard's durations.
type HistogramSeries struct {
	Name    string   `json:"name"`
	Buckets []Bucket `json:"buckets"`
}

// A Bucket counts the values from Low up to, but not including, High
// nanoseconds.
type Bucket struct {
	Low   float64 `json:"low_ns"`
	High  float64 `json:"high_ns"`
	Count uint64  `json:"count"`
}

// PlotKind says how the points of a plot are drawn.
type PlotKind string

const (
	Lines PlotKind = "lines" // X is a quantity, points of a series are joined
	Bars  PlotKind = "bars"  // X is the index into Plot.Categories
	CDF   PlotKind = "cdf"   // X is a duration, Y the share of samples above it
)

// A Plot is a picture of some of the tables' numbers.
type Plot struct {
	ID         string   `json:"id"`
	Title      string   `json:"title"`
	Kind       PlotKind `json:"kind"`
	X          Axis     `json:"x"`
	Y          Axis     `json:"y"`
	Categories []string `json:"categories,omitempty"`
	Series     []Series `json:"series"`
}

// An Axis of a Plot.
type Axis struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	Log  bool   `json:"log,omitempty"`
}

// A Series is one guard's points.
type Series struct {
	Name      string  `json:"name"`
	Published bool    `json:"published,omitempty"` // figures of others: draw them apart
	Points    []Point `json:"points"`
}

// A Point has the spread of its Y, equal to it where there is none.
type Point struct {
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
	YMin float64 `json:"y_min"`
	YMax float64 `json:"y_max"`
}

// State says how a Target fared.
type State string

const (
	Pass        State = "pass"
	Miss        State = "miss"
	NotMeasured State = "not measured"
)

// A Target is one promise about a measured number.
type Target struct {
	Name      string  `json:"name"`    // unique: "spread2-x-rwlock"
	What      string  `json:"what"`    // the measurement, for people
	Compare   string  `json:"compare"` // ">=" or "<="
	Threshold float64 `json:"threshold"`
	Kind      Kind    `json:"kind"`             // of Threshold and Value
	Value     *Number `json:"value,omitempty"`  // nil unless measured
	State     State   `json:"state"`            // by the median
	Note      string  `json:"note,omitempty"`   // why it was not measured, what to mind
	Report    string  `json:"report,omitempty"` // the Name of the report it is taken from
}

// Env is what the numbers were measured on.
type Env struct {
	Date       time.Time `json:"date"`
	CPUs       int       `json:"cpus"` // that this process may run on
	CPUModel   string    `json:"cpu_model"`
	Kernel     string    `json:"kernel"`
	GoVersion  string    `json:"go_version"`
	GOMAXPROCS int       `json:"gomaxprocs"`
	WaitPolicy string    `json:"wait_policy"` // how guard srcu waits for a reader that is inside
}

// Noise is what the machine did during the run that was not the run.
type Noise struct {
	Slices    int `json:"slices"`    // measured in all
	Disturbed int `json:"disturbed"` // of these: a thread lost its processor
	// Shares of all processor time of the machine, 0 to 1.
	Steal   float64 `json:"steal"`   // taken by the hypervisor
	Foreign float64 `json:"foreign"` // used by other processes
}

// A Step is one unit of progress.
type Step struct {
	Done, Total int
	What        string // what comes next: "round 3 of 7: srcu, 2 threads"
}

// Progress is called before each unit of work, and at the end with Done equal
// to Total, from the goroutine that called the entry point. It may be nil.
type Progress func(Step)
