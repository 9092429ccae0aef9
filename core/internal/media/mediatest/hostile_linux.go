package mediatest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/sdk/sdktest/linear"
)

// Hostile fails the test if a parser takes longer for one of the hostile inputs than a limited multiple of the time for a harmless one.
// Quadratic work would take thousands of times as long.
func Hostile(t *testing.T, about string, parse func(string), harmless string, hostile map[string]string) {
	t.Helper()
	const most = 300
	table := NewTable(t, about, linear.Time(func() { parse(harmless) }))
	for name, content := range hostile {
		took := linear.Time(func() { parse(content) })
		if table.ratio(took) > most {
			t.Errorf("%s: %s takes %v, %.0f times as long as a harmless one", about, name, took, table.ratio(took))
		}
		table.Add(name, len(content), took, "read")
	}
	table.Print()
}

// Table lists how long inputs took, as multiples of a harmless one.
type Table struct {
	t     *testing.T
	about string
	usual time.Duration
	lines []string
}

// NewTable returns a table; a harmless input takes the usual time.
func NewTable(t *testing.T, about string, usual time.Duration) *Table {
	t.Helper()
	return &Table{t: t, about: about, usual: usual}
}

func (l *Table) ratio(took time.Duration) float64 { return float64(took) / float64(l.usual) }

// Add adds an input of a size in bytes.
func (l *Table) Add(name string, size int, took time.Duration, end string) {
	l.lines = append(l.lines, fmt.Sprintf("| %s | %d KB | %.1f | %s |", name, size>>10, l.ratio(took), end))
}

// Print logs the table.
func (l *Table) Print() {
	slices.Sort(l.lines)
	l.t.Logf("a harmless %s takes %v\n| %s | size | ratio | end |\n|---|---|---|---|\n%s", l.about,
		l.usual.Round(10*time.Microsecond), l.about, strings.Join(l.lines, "\n"))
}

// Filled returns a beginning that is followed by repetitions of a text, cut to a size in bytes. In the text, %d stands for the number of
// the repetition.
func Filled(begin, repeated string, size int) string {
	var text strings.Builder
	text.WriteString(begin)
	for n := 0; text.Len() < size; n++ {
		text.WriteString(strings.ReplaceAll(repeated, "%d", strconv.Itoa(n)))
	}
	return text.String()[:size]
}
