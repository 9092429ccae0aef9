package session_test

import (
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/session"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// Behaviour: session-expiry.
func TestLastDaily(t *testing.T) {
	t.Parallel()
	const four, halfTwo, never = 4 * 60, 2*60 + 30, -1
	tests := []struct {
		name  string
		zone  string
		daily int
		now   string
		want  string // empty: none
	}{
		{"later that day", "UTC", four, "2026-03-15T14:30:00Z", "2026-03-15T04:00:00Z"},
		{"at that moment", "UTC", four, "2026-03-15T04:00:00Z", "2026-03-15T04:00:00Z"},
		{"just before", "UTC", four, "2026-03-15T03:59:59.999Z", "2026-03-14T04:00:00Z"},
		{"on the first of a year", "UTC", four, "2026-01-01T00:00:00Z", "2025-12-31T04:00:00Z"},
		{"at midnight", "UTC", 0, "2026-03-15T00:00:00Z", "2026-03-15T00:00:00Z"},
		{"before midnight", "UTC", 24*60 - 1, "2026-03-15T23:58:00Z", "2026-03-14T23:59:00Z"},
		{"another zone's day", "America/Los_Angeles", four, "2026-01-12T11:59:00Z", "2026-01-11T12:00:00Z"},
		{"never", "UTC", never, "2026-03-15T14:30:00Z", ""},
		{"no time of day", "UTC", 24 * 60, "2026-03-15T14:30:00Z", ""},

		// On 8 March 2026, the clocks of New York go from 02:00 EST to 03:00 EDT.
		{"the day is short", "America/New_York", four, "2026-03-08T12:00:00Z", "2026-03-08T08:00:00Z"},
		{"the day before is short", "America/New_York", four, "2026-03-09T07:59:00Z", "2026-03-08T08:00:00Z"},
		{"the time is skipped", "America/New_York", halfTwo, "2026-03-08T12:00:00Z", "2026-03-08T07:00:00Z"},
		{"the time will be skipped", "America/New_York", halfTwo, "2026-03-08T06:59:59Z", "2026-03-07T07:30:00Z"},
		{"the time was just skipped", "America/New_York", halfTwo, "2026-03-08T07:00:00Z", "2026-03-08T07:00:00Z"},
		// On 1 November 2026, they go from 02:00 EDT to 01:00 EST.
		{"the day is long", "America/New_York", four, "2026-11-01T12:00:00Z", "2026-11-01T09:00:00Z"},
		{"the day before is long", "America/New_York", four, "2026-11-02T08:59:00Z", "2026-11-01T09:00:00Z"},
		{"the time comes twice", "America/New_York", 90, "2026-11-01T12:00:00Z", "2026-11-01T05:30:00Z"},
		{"the time comes twice, between them", "America/New_York", 90, "2026-11-01T06:15:00Z", "2026-11-01T05:30:00Z"},
		// On 7 September 2025, those of Santiago go from midnight to 01:00.
		{"midnight is skipped", "America/Santiago", 0, "2025-09-07T04:00:00Z", "2025-09-07T04:00:00Z"},
		{"midnight will be skipped", "America/Santiago", 0, "2025-09-07T03:59:59Z", "2025-09-06T04:00:00Z"},
		// Samoa had no 30 December 2011.
		{"a day is skipped", "Pacific/Apia", four, "2011-12-30T11:00:00Z", "2011-12-30T10:00:00Z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			now, err := time.Parse(time.RFC3339, tt.now)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if at := session.LastDaily(tt.daily, now, zone(t, tt.zone)); !at.IsZero() {
				got = at.UTC().Format(time.RFC3339Nano)
			}
			if got != tt.want {
				t.Errorf("LastDaily = %q, want %q", got, tt.want)
			}
		})
	}
}

// A day begins after every time of the day before, also where the clocks skip midnight.
// Behaviour: budget-period.
func TestMidnight(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, zone string
		month      time.Month
		day        int
		want       string
	}{
		{"of a day", "UTC", time.March, 15, "2026-03-15T00:00:00Z"},
		{"after the last of a month", "UTC", time.March, 32, "2026-04-01T00:00:00Z"},
		{"after the last month", "UTC", 13, 1, "2027-01-01T00:00:00Z"},
		{"skipped", "America/Santiago", time.September, 6, "2026-09-06T04:00:00Z"},
		{"twice", "America/Santiago", time.April, 5, "2026-04-05T04:00:00Z"},
	} {
		if got := session.Midnight(2026, test.month, test.day, zone(t, test.zone)).UTC().Format(time.RFC3339); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// Time never takes the last one back, and it is never far away.
func TestLastDailyGoesWithTime(t *testing.T) {
	t.Parallel()
	zones := []*time.Location{
		time.UTC, zone(t, "America/New_York"), zone(t, "Australia/Lord_Howe"), zone(t, "America/Santiago"), zone(t, "Asia/Kathmandu"), zone(t, "Africa/Casablanca"),
	}
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		daily := rapid.IntRange(0, 24*60-1).Draw(t, "daily")
		now := time.Unix(rapid.Int64Range(0, 1<<31).Draw(t, "now"), 0)
		later := now.Add(time.Duration(rapid.Int64Range(0, 3*24*60*60).Draw(t, "later")) * time.Second)
		first, second := session.LastDaily(daily, now, zone), session.LastDaily(daily, later, zone)
		if first.After(now) || now.Sub(first) > 26*time.Hour {
			t.Fatalf("at %v it is %v", now, first)
		}
		if second.Before(first) {
			t.Fatalf("at %v it is %v, and at %v %v", now, first, later, second)
		}
		if later.Sub(now) > 26*time.Hour && !second.After(now) {
			t.Fatalf("none between %v and %v", now, later)
		}
	})
}
