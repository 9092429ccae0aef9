package session

import "time"

// LastDaily returns the latest time at or before now at which clocks in the zone showed a time of day, in minutes after
// midnight. On a day whose clocks skip that time it is the time of the skip; on one whose clocks show it twice it is one of
// the two. For an invalid time of day it returns the zero time.
func LastDaily(daily int, now time.Time, zone *time.Location) time.Time {
	if daily < 0 || daily >= 24*60 {
		return time.Time{}
	}
	year, month, day := now.In(zone).Date()
	for {
		if at := daysClock(year, month, day, daily, zone); !at.After(now) {
			return at
		}
		day--
	}
}

// Midnight returns when a day begins in the zone. The day may be one after the month's last.
func Midnight(year int, month time.Month, day int, zone *time.Location) time.Time {
	return daysClock(year, month, day, 0, zone)
}

// daysClock returns when clocks show the given minutes after midnight on a day.
func daysClock(year int, month time.Month, day, minutes int, zone *time.Location) time.Time {
	at := time.Date(year, month, day, 0, minutes, 0, 0, zone)
	want := time.Date(year, month, day, 0, minutes, 0, 0, time.UTC)
	hour, minute, _ := at.Clock()
	shown := time.Date(at.Year(), at.Month(), at.Day(), hour, minute, 0, 0, time.UTC)
	begin, end := at.ZoneBounds()
	switch {
	case shown.Before(want): // the clocks skip the time, and this is before they do
		return end
	case shown.After(want):
		return begin
	default:
		return at
	}
}
