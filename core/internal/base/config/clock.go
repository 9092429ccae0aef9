package config

import (
	"fmt"
	"strings"
	"time"
)

// Clock is a time of day, in minutes after midnight.
type Clock int

// Off means no time. The zero Clock is midnight.
const Off Clock = -1

// String returns the clock as "04:00", and Off as "".
func (c Clock) String() string {
	if c == Off {
		return ""
	}
	return fmt.Sprintf("%02d:%02d", c/60, c%60)
}

// parseClock reports whether the text is a time of day.
func parseClock(s string) (Clock, bool) {
	t, err := time.Parse("15:04", s)
	return Clock(t.Hour()*60 + t.Minute()), err == nil
}

// clock stores a time of day, or none.
func clock(to *Clock) setter {
	return func(v value) {
		s, ok := v.text()
		if !ok {
			return
		}
		c, ok := parseClock(s)
		switch {
		case s == "":
			*to = Off
		case !ok:
			v.refuse(`must be a time of day, such as "04:00", or ""`)
		default:
			*to = c
		}
	}
}

// hours stores a part of the day, which may span midnight, or all of it.
func hours(from, to *Clock) setter {
	return func(v value) {
		s, ok := v.text()
		if !ok {
			return
		}
		if s == "" {
			*from, *to = Off, Off
			return
		}
		first, last, _ := strings.Cut(s, "-")
		begin, ok := parseClock(first)
		end, good := parseClock(last)
		if !ok || !good || begin == end {
			v.refuse(`must be two times of day, such as "08:00-22:00", or ""`)
			return
		}
		*from, *to = begin, end
	}
}
