package main

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// rule says when a schedule is due. One of Once, Every and Cron is set.
type rule struct {
	Once  time.Time     `json:"once,omitzero"`
	Every time.Duration `json:"every,omitempty"` // of elapsed time, from Start on
	Start time.Time     `json:"start,omitzero"`
	Cron  string        `json:"cron,omitempty"`  // on the clock of the zone
	Words string        `json:"words,omitempty"` // the rule for people, such as "every weekday at 9:00"; empty for Once
}

// times finds due times. They are whole seconds.
type times interface {
	// after returns the first due time after t; zero: there is none.
	after(t time.Time) time.Time
}

// times returns the due times of the rule on the clock of a zone.
func (r rule) times(zone *time.Location) (times, error) {
	switch {
	case r.Cron != "":
		spec, err := parseCron(r.Cron)
		return wallTimes{spec: spec, zone: zone}, err
	case r.Every > 0:
		return intervals{start: r.Start, every: r.Every}, nil
	default:
		return onceAt(r.Once), nil
	}
}

// onceAt is a single due time.
type onceAt time.Time

func (o onceAt) after(t time.Time) time.Time {
	if at := time.Time(o); at.After(t) {
		return at
	}
	return time.Time{}
}

// intervals are equal intervals of elapsed time, which no clock of a zone changes.
type intervals struct {
	start time.Time
	every time.Duration
}

func (i intervals) after(t time.Time) time.Time {
	if t.Before(i.start) {
		return i.start.Add(i.every)
	}
	// A duration holds 292 years, and a schedule is younger.
	return i.start.Add((t.Sub(i.start)/i.every + 1) * i.every)
}

// wallTimes are times on the clock of a zone. The line is looked up on a clock that has no changes, and each time that it gives is then
// found in the zone: so a time that the clock skips is due right after the gap, and one that comes twice is due the first time.
type wallTimes struct {
	spec *cron.SpecSchedule
	zone *time.Location
}

func (w wallTimes) after(t time.Time) time.Time {
	wall := t.UTC().Add(offsetAt(t, w.zone))
	for {
		// What the clock has shown up to now was due before: instants have the order of the times that they are found for.
		if wall = w.spec.Next(wall); wall.IsZero() {
			return wall
		}
		if at := instant(wall, w.zone); at.After(t) {
			return at
		}
	}
}

// maxOffset is more than any zone is away from UTC.
const maxOffset = 16 * time.Hour

// instant returns the first time at which the clock of a zone shows what wall is in UTC, or the end of the gap that skips it.
// [time.Time.ZoneBounds] would be simpler, and is wrong on the last day of leap years that a zone's table does not list: its end is not
// after the time.
func instant(wall time.Time, zone *time.Location) time.Time {
	for from := wall.Add(-maxOffset); ; {
		offset := offsetAt(from, zone)
		at := wall.Add(-offset)
		if offsetAt(at, zone) == offset {
			return at.In(zone)
		}
		// The clock changes before it shows that.
		from = from.Add(time.Duration(sort.Search(int(at.Sub(from)/time.Second), func(seconds int) bool {
			return offsetAt(from.Add(time.Duration(seconds)*time.Second), zone) != offset
		})) * time.Second)
		if !from.Add(offsetAt(from, zone)).Before(wall) {
			return from.In(zone)
		}
	}
}

// offsetAt returns how far the clock of a zone is ahead of UTC.
func offsetAt(t time.Time, zone *time.Location) time.Duration {
	_, seconds := t.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

// maxCron is the maximum length of a cron line, in bytes.
const maxCron = 100

// cronParser reads lines of five fields.
var cronParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// parseCron reads a cron line. The parser's errors are for programmers, and it would read a zone and, without a space, panic.
func parseCron(line string) (*cron.SpecSchedule, error) {
	fields := strings.Fields(line)
	if len(line) > maxCron || len(fields) != 5 || strings.ContainsAny(line, "=@") {
		return nil, errCron
	}
	fields[4] = sunday(fields[4])
	parsed, err := cronParser.Parse(strings.Join(fields, " "))
	if err != nil {
		return nil, errCron
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, errCron
	}
	spec.Location = time.UTC
	return spec, nil
}

var errCron = errors.New("this is no cron line: it has five fields, which are minute, hour, day of the month, month and day of the week")

// sunday replaces 7, which means Sunday in many crons, by what the parser takes.
func sunday(field string) string {
	parts := strings.Split(field, ",")
	for i, part := range parts {
		if part == "7" {
			parts[i] = "0"
		} else if first, ok := strings.CutSuffix(part, "-7"); ok && first != "" {
			parts[i] = first + "-6,0"
			if first == "7" {
				parts[i] = "0"
			}
		}
	}
	return strings.Join(parts, ",")
}

// minInterval is the least time between two due times of a schedule.
const minInterval = 5 * time.Minute

// check refuses a rule that is never due, or too often.
func (r rule) check(now time.Time, zone *time.Location) error {
	due, err := r.times(zone)
	if err != nil {
		return err
	}
	first := due.after(now)
	if first.IsZero() {
		return errors.New("this is never due")
	}
	if r.Cron != "" {
		// On a clock without changes, so that a gap does not bring two times together.
		due = wallTimes{spec: due.(wallTimes).spec, zone: time.UTC}
	}
	for before, i := due.after(now), 0; i < 100; i++ {
		next := due.after(before)
		if next.IsZero() {
			break
		}
		if next.Sub(before) < minInterval {
			return fmt.Errorf("this is due too often: at least %d minutes must be between two times", int(minInterval.Minutes()))
		}
		before = next
	}
	return nil
}

// maxBack bounds how far back due times are counted one by one.
const maxBack = 400 * 24 * time.Hour

// passed returns the last due time that is after one time and not after another, and how many there are; zero: there is none.
func passed(due times, after, until time.Time) (last time.Time, count int) {
	if back := until.Add(-maxBack); after.Before(back) {
		if first := due.after(back); !first.IsZero() && !first.After(until) {
			after = back
		}
	}
	for next := due.after(after); !next.IsZero() && !next.After(until); next = due.after(next) {
		last, count = next, count+1
	}
	return last, count
}
