package main

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// words are what a person wrote, read word by word.
type words struct{ rest string }

// peek returns the next word in lower case without the punctuation after it, and what follows; at the end it is empty.
func (w words) peek() (word string, after words) {
	text := strings.TrimLeftFunc(w.rest, unicode.IsSpace)
	end := strings.IndexFunc(text, unicode.IsSpace)
	if end < 0 {
		end = len(text)
	}
	return strings.TrimRight(strings.ToLower(text[:end]), ",:;"), words{text[end:]}
}

// next reads the next word.
func (w *words) next() (word string) {
	word, *w = w.peek()
	return word
}

// skip reads any of these words.
func (w *words) skip(any ...string) (skipped bool) {
	for {
		word, after := w.peek()
		if !slices.Contains(any, word) {
			return skipped
		}
		*w, skipped = after, true
	}
}

// parseWhen reads when something is due, and returns what follows. The error is for a person.
func parseWhen(text string, now time.Time, zone *time.Location) (r rule, rest string, err error) {
	w := &words{text}
	now = now.In(zone).Truncate(time.Second)
	if w.skip("every", "each") || startsRepeat(*w) {
		r, err = w.every(now)
	} else {
		r.Once, err = w.once(now)
	}
	if err != nil {
		return rule{}, "", err
	}
	return r, strings.TrimSpace(w.rest), r.check(now, zone)
}

// startsRepeat reports whether a rule begins without "every".
func startsRepeat(w words) bool {
	word, _ := w.peek()
	return slices.Contains([]string{"daily", "hourly", "weekdays", "weekends", "cron"}, word) ||
		strings.HasSuffix(word, "days") && weekdays(word) != 0
}

// maxAhead is how far ahead a single time may be.
const maxAhead = 5 * 366 * 24 * time.Hour

// once reads a single time.
func (w *words) once(now time.Time) (at time.Time, err error) {
	start := *w
	said := w.skip("on", "this", "next")
	if day := *w; day.skip("at") { // "at tomorrow 9:00"
		if rest := day; day.day(now).said {
			*w = rest
		}
	}
	word, after := w.peek()
	switch {
	case word == "":
		return at, errors.New("say when")
	case word == "in":
		*w = after
		at, err = w.ahead(now)
	case !said && isSpan(word):
		at, err = w.ahead(now)
	default:
		at, err = w.onDay(now, w.day(now))
	}
	switch {
	case errors.Is(err, errNoTime):
		word, _ := start.peek()
		return at, fmt.Errorf("%q does not begin with a time that I know", cutText(word, 40))
	case err != nil:
		return at, err
	case at.Sub(now) > maxAhead:
		return at, errors.New("this is more than five years ahead")
	}
	return at, nil
}

// ahead reads how far ahead a time is. Days are those of the calendar.
func (w *words) ahead(now time.Time) (at time.Time, err error) {
	at = now
	for first := true; ; first = false {
		n, unit, ok := w.span(first)
		switch {
		case !ok && first:
			return at, errors.New("say how long, such as 20m, 2h or 3 days")
		case !ok && !at.After(now):
			return at, errors.New("this is now")
		case !ok:
			return at, nil
		case unit == 'd' || unit == 'w':
			if unit == 'w' {
				n *= 7
			}
			at = fromWall(at.Year(), at.Month(), at.Day()+n, at.Hour(), at.Minute(), at.Second(), at.Location())
		default:
			at = at.Add(time.Duration(n) * unitOf[unit])
		}
	}
}

var unitOf = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour}

// unitNames are the units of time, by their names.
var unitNames = map[string]byte{
	"s": 's', "sec": 's', "secs": 's', "second": 's', "seconds": 's',
	"m": 'm', "min": 'm', "mins": 'm', "minute": 'm', "minutes": 'm',
	"h": 'h', "hr": 'h', "hrs": 'h', "hour": 'h', "hours": 'h',
	"d": 'd', "day": 'd', "days": 'd', "w": 'w', "week": 'w', "weeks": 'w',
}

// maxCount is the maximum number before a unit.
const maxCount = 100_000

// span reads a number with its unit: "20m", "2h30m" in two calls, "20 minutes", "an hour". Only the first may be two words.
func (w *words) span(first bool) (n int, unit byte, ok bool) {
	word, after := w.peek()
	digits := len(word) - len(strings.TrimLeft(word, "0123456789"))
	if digits == 0 {
		if next, beyond := after.peek(); first && (word == "a" || word == "an") && unitNames[next] != 0 {
			*w = beyond
			return 1, unitNames[next], true
		}
		return 0, 0, false
	}
	n, err := strconv.Atoi(word[:digits])
	if err != nil || n > maxCount {
		return 0, 0, false
	}
	if digits == len(word) {
		next, beyond := after.peek()
		if !first || unitNames[next] == 0 {
			return 0, 0, false
		}
		*w = beyond
		return n, unitNames[next], true
	}
	name := word[digits:]
	if i := strings.IndexAny(name, "0123456789"); i > 0 { // the next span is in the same word
		if rest := name[i:]; unitNames[name[:i]] != 0 && isSpan(rest) {
			*w = words{rest + after.rest}
			return n, unitNames[name[:i]], true
		}
		return 0, 0, false
	}
	if unitNames[name] == 0 {
		return 0, 0, false
	}
	*w = after
	return n, unitNames[name], true
}

// isSpan reports whether a word is a number with its unit, or several.
func isSpan(word string) bool {
	w := words{word}
	for w.rest != "" {
		if _, _, ok := w.span(false); !ok {
			return false
		}
	}
	return word != ""
}

// date is a day of the calendar, or one that is not said.
type date struct {
	said    bool
	name    string // as it was said
	weekday bool
	at      time.Time // its noon in UTC
}

// day reads a day, if there is one.
func (w *words) day(now time.Time) date {
	word, after := w.peek()
	today := time.Date(now.Year(), now.Month(), now.Day(), 12, 0, 0, 0, time.UTC)
	d := date{said: true, name: word}
	switch set := weekdays(word); {
	case word == "today":
		d.at = today
	case word == "tomorrow":
		d.at = today.AddDate(0, 0, 1)
	case bits.OnesCount8(set) == 1:
		day := bits.TrailingZeros8(set)
		d.weekday, d.at = true, today.AddDate(0, 0, (day-int(today.Weekday())+7)%7)
	default:
		text, clock, joined := strings.Cut(word, "t")
		at, err := time.Parse("2006-1-2", text)
		if err != nil {
			return date{}
		}
		d.at = at.Add(12 * time.Hour)
		if joined {
			after.rest = clock + after.rest
		}
	}
	*w = after
	return d
}

var errNoTime = errors.New("there is no time")

// onDay reads the time on a day. Without a day it is the next time that the clock shows it.
func (w *words) onDay(now time.Time, d date) (at time.Time, err error) {
	hour, minute, err := w.clock()
	switch {
	case errors.Is(err, errNoTime) && d.said:
		return at, fmt.Errorf("say at what time, such as %s 9:00", d.name)
	case err != nil:
		return at, err
	}
	if err := w.noDay(now); err != nil {
		return at, err
	}
	day := d.at
	if !d.said {
		day = now
	}
	find := func(more int) time.Time {
		return fromWall(day.Year(), day.Month(), day.Day()+more, hour, minute, 0, now.Location())
	}
	at = find(0)
	switch {
	case at.After(now):
	case !d.said:
		at = find(1)
	case d.weekday:
		at = find(7)
	default:
		return at, errors.New("this has passed already")
	}
	return at, nil
}

// noDay refuses a day after the time, which would be taken for text.
func (w *words) noDay(now time.Time) error {
	after := *w
	on := after.skip("on")
	name, _ := after.peek()
	if d := after.day(now); d.said && (on || !d.weekday) {
		return fmt.Errorf("say the day before the time, such as %s 9:00", name)
	}
	return nil
}

// clock reads a time of the day: 9:00, 17.30, 9am, 9:30 pm, noon; and "at 9".
func (w *words) clock() (hour, minute int, err error) {
	at := w.skip("at")
	word, after := w.peek()
	switch word {
	case "noon", "midday":
		*w = after
		return 12, 0, nil
	case "midnight":
		*w = after
		return 0, 0, nil
	}
	half := ""
	for _, suffix := range []string{"am", "pm", "a.m.", "p.m.", "a.m", "p.m"} {
		if before, ok := strings.CutSuffix(word, suffix); ok && before != "" {
			word, half = before, suffix[:1]
			break
		}
	}
	hours, minutes, both := word, "", false
	if i := strings.IndexAny(word, ":."); i >= 0 {
		hours, minutes, both = word[:i], word[i+1:], true
	}
	if next, beyond := after.peek(); half == "" && slices.Contains([]string{"am", "pm", "a.m.", "p.m."}, next) && isDigits(hours) {
		half, after = next[:1], beyond
	}
	if !isDigits(hours) || both && (!isDigits(minutes) || len(minutes) != 2) || !both && half == "" && !at {
		return 0, 0, errNoTime
	}
	hour, _ = strconv.Atoi(hours)
	minute, _ = strconv.Atoi(minutes)
	if half != "" && (hour < 1 || hour > 12) || hour > 23 || minute > 59 {
		return 0, 0, fmt.Errorf("%s is no time of the day", cutText(w.next(), 20))
	}
	if half != "" {
		hour %= 12
		if half == "p" {
			hour += 12
		}
	}
	*w = after
	return hour, minute, nil
}

// isDigits reports whether a text is one or two digits.
func isDigits(text string) bool {
	return (len(text) == 1 || len(text) == 2) && strings.Trim(text, "0123456789") == ""
}

// fromWall returns the first time at which the clock of a zone shows this, or the end of the gap that skips it.
func fromWall(year int, month time.Month, day, hour, minute, second int, zone *time.Location) time.Time {
	return instant(time.Date(year, month, day, hour, minute, second, 0, time.UTC), zone)
}
