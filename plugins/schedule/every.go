package main

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// every reads a rule behind "every".
func (w *words) every(now time.Time) (rule, error) {
	word, after := w.peek()
	if word == "cron" {
		*w = after
		return w.cron()
	}
	if n, unit, ok := w.period(); ok {
		return interval(n, unit, now)
	}
	if word == "month" || word == "monthly" {
		*w = after
		return w.month()
	}
	set, err := w.weekdays()
	if err != nil {
		return rule{}, err
	}
	hour, minute, err := w.clock()
	if errors.Is(err, errNoTime) {
		return rule{}, fmt.Errorf("say at what time, such as %s 9:00", strings.ToLower(daysOf(set)))
	}
	if err == nil {
		err = w.noDay(now)
	}
	if err != nil {
		return rule{}, err
	}
	return rule{
		Cron:  fmt.Sprintf("%d %d * * %s", minute, hour, cronDays(set)),
		Words: fmt.Sprintf("every %s at %d:%02d", daysOf(set), hour, minute),
	}, nil
}

// period reads an interval: "2h", "30 minutes", "hour".
func (w *words) period() (n int, unit byte, ok bool) {
	word, after := w.peek()
	if word == "hour" || word == "hourly" {
		*w = after
		return 1, 'h', true
	}
	if word == "minute" || word == "second" || word == "week" {
		*w = after
		return 1, word[0], true
	}
	return w.span(true)
}

// maxEvery is the longest interval.
const maxEvery = 366 * 24 * time.Hour

// interval returns the rule of an interval that begins now.
func interval(n int, unit byte, now time.Time) (rule, error) {
	every := time.Duration(n) * unitOf[unit]
	switch {
	case unit == 'd' || unit == 'w':
		return rule{}, errors.New("for days and weeks, say on which days and when, such as monday 9:00, or say the hours, such as 48h")
	case every < minInterval:
		return rule{}, fmt.Errorf("this is due too often: at least %d minutes must be between two times", int(minInterval.Minutes()))
	case every > maxEvery:
		return rule{}, errors.New("this is more than a year")
	}
	return rule{Every: every, Start: now, Words: "every " + spanWords(every)}, nil
}

// month reads the day of a month and the time.
func (w *words) month() (rule, error) {
	w.skip("on", "the", "day")
	word, after := w.peek()
	number := strings.TrimRight(word, "stndrh.")
	day, _ := strconv.Atoi(number)
	if !isDigits(number) || day < 1 || day > 31 {
		return rule{}, errors.New("say on which day of the month, and when, such as month 1 9:00")
	}
	*w = after
	hour, minute, err := w.clock()
	if errors.Is(err, errNoTime) {
		return rule{}, fmt.Errorf("say at what time, such as month %d 9:00", day)
	} else if err != nil {
		return rule{}, err
	}
	said := fmt.Sprintf("on day %d of every month at %d:%02d", day, hour, minute)
	if day > 28 {
		said += " (not in months that have no such day)"
	}
	return rule{Cron: fmt.Sprintf("%d %d %d * *", minute, hour, day), Words: said}, nil
}

// quotes are what people and their keyboards put around a cron line.
const quotes = `"'` + "`" + "“”„‟«»‘’‚"

// cron reads a cron line, in quotes or not.
func (w *words) cron() (rule, error) {
	text := strings.TrimSpace(w.rest)
	inner := strings.TrimLeft(text, quotes)
	if inner != text {
		end := strings.IndexAny(inner, quotes)
		if end < 0 {
			return rule{}, errCron
		}
		w.rest = strings.TrimLeft(inner[end:], quotes)
		inner = inner[:end]
	} else {
		for range 5 {
			_, *w = w.peek()
		}
		inner = strings.TrimSuffix(text, w.rest)
	}
	line := strings.Join(strings.Fields(inner), " ")
	if _, err := parseCron(line); err != nil {
		return rule{}, err
	}
	return rule{Cron: line, Words: "by the cron line " + line}, nil
}

// weekdays reads days of the week: "day", "weekday", "mon-fri", "monday, thursday and friday". A time alone is every day's.
func (w *words) weekdays() (set uint8, err error) {
	for {
		word, after := w.peek()
		more := weekdays(word)
		if more == 0 {
			break
		}
		set |= more
		*w = after
		if next, beyond := w.peek(); next == "and" || next == "&" || next == "+" {
			if follows, _ := beyond.peek(); weekdays(follows) != 0 {
				*w = beyond
			}
		}
	}
	if set != 0 {
		return set, nil
	}
	look := *w
	if _, _, err := look.clock(); !errors.Is(err, errNoTime) {
		return everyDay, nil
	}
	word, _ := w.peek()
	if word == "" {
		return 0, errors.New("say how often")
	}
	return 0, fmt.Errorf("%q does not say how often", cutText(word, 40))
}

// Sets of days of the week: bit 0 is Sunday.
const (
	everyDay uint8 = 0b1111111
	workdays uint8 = 0b0111110
	weekend  uint8 = 0b1000001
)

// weekdays returns the days that a word names: lists and ranges of them, too. None: it names no days.
func weekdays(word string) (set uint8) {
	for part := range strings.SplitSeq(word, ",") {
		first, last, isRange := strings.Cut(part, "-")
		one := namedDays(first)
		if one == 0 {
			return 0
		}
		set |= one
		if !isRange {
			continue
		}
		to := namedDays(last)
		if bits.OnesCount8(one) != 1 || bits.OnesCount8(to) != 1 {
			return 0
		}
		for day := bits.TrailingZeros8(one); 1<<day != to; day = (day + 1) % 7 {
			set |= 1 << day
		}
		set |= to
	}
	return set
}

func namedDays(name string) uint8 {
	switch name {
	case "day", "daily", "days":
		return everyDay
	case "weekday", "weekdays", "workday", "workdays":
		return workdays
	case "weekend", "weekends":
		return weekend
	}
	name = strings.TrimSuffix(name, ".")
	for day := time.Sunday; day <= time.Saturday; day++ {
		full := strings.ToLower(day.String())
		if name == full || name == full+"s" || len(name) >= 3 && strings.HasPrefix(full, name) && len(name) <= 5 {
			return 1 << day
		}
	}
	return 0
}

func cronDays(set uint8) string {
	if set == everyDay {
		return "*"
	}
	var days []string
	for day := range 7 {
		if set&(1<<day) != 0 {
			days = append(days, strconv.Itoa(day))
		}
	}
	return strings.Join(days, ",")
}
