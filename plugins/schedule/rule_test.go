package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// fields is a cron line as the tests read it, in another way than the plugin: a list of what each number does.
type fields struct {
	in     [5][60]bool
	either bool // a day is named by its number or by its name
}

// readFields reads a line of numbers, lists, ranges, steps and stars.
func readFields(t testing.TB, line string) (f fields) {
	t.Helper()
	limits := [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}
	for i, field := range strings.Fields(line) {
		for part := range strings.SplitSeq(field, ",") {
			from, to, step := limits[i][0], limits[i][1], 1
			span, every, stepped := strings.Cut(part, "/")
			if stepped {
				step = atoi(t, every)
			}
			if first, last, isRange := strings.Cut(span, "-"); span != "*" {
				from, to = atoi(t, first), atoi(t, first)
				if isRange {
					to = atoi(t, last)
				}
			}
			for n := from; n <= to; n += step {
				f.in[i][n] = true
			}
		}
	}
	parts := strings.Fields(line)
	f.either = parts[2][0] != '*' && parts[4][0] != '*'
	return f
}

func atoi(t testing.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// has reports whether a line names a minute of the clock.
func (f *fields) has(wall time.Time) bool {
	if !f.in[0][wall.Minute()] || !f.in[1][wall.Hour()] || !f.in[3][int(wall.Month())] {
		return false
	}
	day, weekday := f.in[2][wall.Day()], f.in[4][int(wall.Weekday())]
	return day && weekday || f.either && (day || weekday)
}

// bruteForce looks at the clock of a zone each minute. A minute of the clock is due when the clock shows it for the first time, and one
// that the clock skips is due at the first minute after that.
func bruteForce(t testing.TB, line string, zone *time.Location, from, to time.Time) (due []time.Time) {
	t.Helper()
	f := readFields(t, line)
	wallOf := func(at time.Time) time.Time {
		at = at.In(zone)
		return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, time.UTC)
	}
	shown := wallOf(from.Add(-48 * time.Hour)) // the latest minute that the clock has shown
	for at := from.Add(-48 * time.Hour); !at.After(to); at = at.Add(time.Minute) {
		now, hit := wallOf(at), false
		for ; shown.Before(now); shown = shown.Add(time.Minute) {
			hit = hit || f.has(shown.Add(time.Minute))
		}
		if hit && at.After(from) {
			due = append(due, at)
		}
	}
	return due
}

// The zones, with a change of the clock in each: by an hour, by half an hour, at midnight, of a whole day, and none.
var changes = map[string][]string{
	"Europe/Berlin":       {"2027-03-27", "2027-10-30", "2040-12-29"},
	"America/New_York":    {"2027-03-13", "2027-11-06"},
	"Australia/Lord_Howe": {"2027-04-03", "2027-10-02"},
	"America/Santiago":    {"2027-04-03", "2027-09-04"},
	"Asia/Kathmandu":      {"2027-03-27"},
	"Africa/Cairo":        {"2027-04-29", "2027-10-28"},
	"Pacific/Apia":        {"2011-12-28"},
}

// Behaviour: schedule-zone.
func TestTimesAcrossChangesOfTheClock(t *testing.T) {
	t.Parallel()
	lines := []string{
		"30 2 * * *", "0 2 * * *", "0 3 * * *", "15 1 * * *", "45 1 * * *", "0 0 * * *", "30 0 * * *", "*/15 * * * *", "0 * * * *", "5 */2 * * *",
		"30 2 * * 0", "0 0 1 * *", "10 2 3-9 * 6", "0,30 0-3 * * 0,6", "59 23 * * *",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		lines = append(lines, fmt.Sprintf("%d %d-%d/%d * * %d-6", random.IntN(60), random.IntN(3), 3+random.IntN(20), 1+random.IntN(4), random.IntN(6)))
	}
	for name, days := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zone, random := zoneOf(t, name), rand.New(rand.NewPCG(3, 4))
			for _, day := range days {
				from, err := time.Parse(time.DateOnly, day)
				if err != nil {
					t.Fatal(err)
				}
				to := from.Add(4 * 24 * time.Hour)
				for _, line := range lines {
					spec, err := parseCron(line)
					if err != nil {
						t.Fatal(err)
					}
					var got []time.Time
					due := wallTimes{spec: spec, zone: zone}
					for at := due.after(from); !at.IsZero() && !at.After(to); at = due.after(at) {
						got = append(got, at)
					}
					want := bruteForce(t, line, zone, from, to)
					if !slices.EqualFunc(got, want, time.Time.Equal) {
						t.Errorf("%s, %q:\n got %v\nwant %v", day, line, got, want)
					}
					// What comes next does not depend on when one asks.
					for range 20 {
						at := from.Add(time.Duration(random.Int64N(int64(to.Sub(from)))))
						i, _ := slices.BinarySearchFunc(want, at, func(w, at time.Time) int {
							if w.After(at) {
								return 1
							}
							return -1
						})
						if next := due.after(at); i < len(want) && !next.Equal(want[i]) {
							t.Errorf("%q after %v is %v, want %v", line, at, next, want[i])
						}
					}
				}
			}
		})
	}
}

// A whole year, minute by minute.
// Behaviour: schedule-zone.
func TestAYearOfTimes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Europe/Berlin", "Asia/Kathmandu"} {
		zone, from := zoneOf(t, name), time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC)
		for _, line := range []string{"30 2 * * *", "0 0 29 2 *", "20 */6 1,31 * 0"} {
			spec, err := parseCron(line)
			if err != nil {
				t.Fatal(err)
			}
			to := from.AddDate(1, 0, 0)
			want := bruteForce(t, line, zone, from, to)
			last, count := passed(wallTimes{spec: spec, zone: zone}, from, to)
			if count != len(want) || count > 0 && !last.Equal(want[count-1]) {
				t.Errorf("%s %q: %d times up to %v, want %d", name, line, count, last, len(want))
			}
		}
	}
}

func TestIntervals(t *testing.T) {
	t.Parallel()
	start := thursday()
	due := intervals{start: start, every: 2 * time.Hour}
	for after, want := range map[time.Duration]time.Duration{
		-time.Hour: 2, 0: 2, time.Hour: 2, 2*time.Hour - 1: 2, 2 * time.Hour: 4, 3 * time.Hour: 4, 5000 * time.Hour: 5002,
	} {
		if got := due.after(start.Add(after)); !got.Equal(start.Add(want * time.Hour)) {
			t.Errorf("after %v it is %v, want %v hours", after, got.Sub(start), want)
		}
	}
	last, count := passed(due, start, start.Add(7*time.Hour))
	if count != 3 || !last.Equal(start.Add(6*time.Hour)) {
		t.Errorf("passed are %d, at last %v", count, last)
	}
	// A host that was off for decades does not count for long.
	if last, count := passed(due, start, start.Add(50*365*24*time.Hour)); count == 0 || count > 401*12 || start.Add(50*365*24*time.Hour).Sub(last) > 2*time.Hour {
		t.Errorf("passed in 50 years are %d, at last %v", count, last)
	}
}
