package main

import (
	"strings"
	"testing"
	"time"
)

// thursday is the time in the tests: Thursday, 26 November 2026, at 17:45 in Berlin.
func thursday() time.Time { return time.Date(2026, 11, 26, 16, 45, 30, 0, time.UTC) }

func zoneOf(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// Behaviour: schedule-times.
func TestSingleTimes(t *testing.T) {
	t.Parallel()
	berlin := zoneOf(t, "Europe/Berlin")
	for text, want := range map[string]string{
		"18:30 call Bob":                      "2026-11-26 18:30:00 call Bob",
		"17:30 call Bob":                      "2026-11-27 17:30:00 call Bob", // that of today has passed
		"at 18:30 call Bob":                   "2026-11-26 18:30:00 call Bob",
		"At 9 call Bob":                       "2026-11-27 09:00:00 call Bob",
		"18.30 call Bob":                      "2026-11-26 18:30:00 call Bob",
		"9am call Bob":                        "2026-11-27 09:00:00 call Bob",
		"9:15pm call Bob":                     "2026-11-26 21:15:00 call Bob",
		"9 PM call Bob":                       "2026-11-26 21:00:00 call Bob",
		"12am sleep":                          "2026-11-27 00:00:00 sleep",
		"12pm eat":                            "2026-11-27 12:00:00 eat",
		"noon eat":                            "2026-11-27 12:00:00 eat",
		"midnight sleep":                      "2026-11-27 00:00:00 sleep",
		"18:30, call  Bob\nand Eve":           "2026-11-26 18:30:00 call  Bob\nand Eve",
		"18:30: call Bob":                     "2026-11-26 18:30:00 call Bob",
		"18:30 friday report":                 "2026-11-26 18:30:00 friday report",
		"in 20m tea":                          "2026-11-26 18:05:30 tea",
		"IN 20 Minutes tea":                   "2026-11-26 18:05:30 tea",
		"20m tea":                             "2026-11-26 18:05:30 tea",
		"in 90s tea":                          "2026-11-26 17:47:00 tea",
		"in 2h30m tea":                        "2026-11-26 20:15:30 tea",
		"in 1h 30m tea":                       "2026-11-26 19:15:30 tea",
		"in an hour tea":                      "2026-11-26 18:45:30 tea",
		"in a week tea":                       "2026-12-03 17:45:30 tea",
		"in 3 days tea":                       "2026-11-29 17:45:30 tea",
		"in 20m 3 eggs":                       "2026-11-26 18:05:30 3 eggs",
		"in 150 days tea":                     "2027-04-25 17:45:30 tea", // across a change of the clock
		"today 18:00 tea":                     "2026-11-26 18:00:00 tea",
		"tomorrow 9:00 call Bob":              "2026-11-27 09:00:00 call Bob",
		"tomorrow at 9:00 call Bob":           "2026-11-27 09:00:00 call Bob",
		"tomorrow at 9 call Bob":              "2026-11-27 09:00:00 call Bob",
		"at tomorrow 9:00 call Bob":           "2026-11-27 09:00:00 call Bob",
		"friday 9:00 report":                  "2026-11-27 09:00:00 report",
		"on Friday, 9:00 report":              "2026-11-27 09:00:00 report",
		"thu 18:00 report":                    "2026-11-26 18:00:00 report",
		"thursday 9:00 report":                "2026-12-03 09:00:00 report",
		"wed 9:00 report":                     "2026-12-02 09:00:00 report",
		"2026-12-24 18:00 presents":           "2026-12-24 18:00:00 presents",
		"on 2026-12-24 at 6pm presents":       "2026-12-24 18:00:00 presents",
		"2026-12-24T18:00 presents":           "2026-12-24 18:00:00 presents",
		"2027-03-28 2:30 in the gap":          "2027-03-28 03:00:00 in the gap",
		"2027-10-31 2:30 comes twice":         "2027-10-31 02:30:00 comes twice",
		"every weekday 9:00 what is new?":     "every weekday at 9:00 | 0 9 * * 1,2,3,4,5 | what is new?",
		"Every Day 8am water":                 "every day at 8:00 | 0 8 * * * | water",
		"every day at 8 water":                "every day at 8:00 | 0 8 * * * | water",
		"every 8:00 water":                    "every day at 8:00 | 0 8 * * * | water",
		"daily 8:00 water":                    "every day at 8:00 | 0 8 * * * | water",
		"every monday,thursday 18:30 x":       "every Monday and Thursday at 18:30 | 30 18 * * 1,4 | x",
		"every monday, thursday 18:30 x":      "every Monday and Thursday at 18:30 | 30 18 * * 1,4 | x",
		"every mon, tue and sun 18:30 x":      "every Monday, Tuesday and Sunday at 18:30 | 30 18 * * 0,1,2 | x",
		"every fri-mon 7:05 x":                "every Monday, Friday, Saturday and Sunday at 7:05 | 5 7 * * 0,1,5,6 | x",
		"mondays 9:00 x":                      "every Monday at 9:00 | 0 9 * * 1 | x",
		"every weekend 10:00 x":               "every Saturday and Sunday at 10:00 | 0 10 * * 0,6 | x",
		"every 2h look":                       "every 2 hours | 2h0m0s | look",
		"every hour look":                     "every hour | 1h0m0s | look",
		"every 90 minutes look":               "every 1 hour 30 minutes | 1h30m0s | look",
		"every month 1 9:00 sum":              "on day 1 of every month at 9:00 | 0 9 1 * * | sum",
		"every month on the 31st at 9:00 sum": "on day 31 of every month at 9:00 (not in months that have no such day) | 0 9 31 * * | sum",
		`every cron "0 9 * * 1-5" new?`:       "by the cron line 0 9 * * 1-5 | 0 9 * * 1-5 | new?",
		"every cron “0 9 * * 7” new?":         "by the cron line 0 9 * * 7 | 0 9 * * 7 | new?",
		"cron 0 9 * * MON-FRI new?":           "by the cron line 0 9 * * MON-FRI | 0 9 * * MON-FRI | new?",
	} {
		r, rest, err := parseWhen(text, thursday(), berlin)
		var got string
		switch {
		case err != nil:
			got = "refused: " + err.Error()
		case r.Every > 0:
			got = r.Words + " | " + r.Every.String() + " | " + rest
		case r.Cron != "":
			got = r.Words + " | " + r.Cron + " | " + rest
		default:
			got = r.Once.In(berlin).Format(time.DateTime) + " " + rest
		}
		if got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	// The first of two, not the second.
	if r, _, err := parseWhen("2027-10-31 2:30 x", thursday(), berlin); err != nil || r.Once.UTC().Hour() != 0 {
		t.Errorf("a time that comes twice is %v, %v", r.Once.UTC(), err)
	}
}

// Behaviour: schedule-times.
func TestTimesThatAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                 "say when",
		"call Bob":                         `"call" does not begin with a time`,
		"9 call Bob":                       `"9" does not begin`,
		"25:00 x":                          "25:00 is no time of the day",
		"at 9:61 x":                        "9:61 is no time of the day",
		"13pm x":                           "13pm is no time of the day",
		"in x":                             "say how long",
		"in 0m x":                          "this is now",
		"in 99999999999999999999m x":       "say how long",
		"in 99999 weeks x":                 "more than five years",
		"today 9:00 x":                     "has passed already",
		"2026-11-25 9:00 x":                "has passed already",
		"2026-02-30 9:00 x":                "does not begin",
		"2099-01-01 9:00 x":                "more than five years",
		"tomorrow":                         "say at what time, such as tomorrow 9:00",
		"tomorrow call Bob":                "say at what time, such as tomorrow 9:00",
		"9:00 tomorrow call Bob":           "say the day before the time, such as tomorrow 9:00",
		"9:00 on friday call Bob":          "say the day before the time, such as friday 9:00",
		"every":                            "say how often",
		"every so often x":                 `"so" does not say how often`,
		"every day x":                      "say at what time, such as day 9:00",
		"every monday and friday x":        "say at what time, such as monday and friday 9:00",
		"every 4m x":                       "at least 5 minutes",
		"every minute x":                   "at least 5 minutes",
		"every 0h x":                       "at least 5 minutes",
		"every 99999h x":                   "more than a year",
		"every 2 days 9:00 x":              "for days and weeks, say on which days",
		"every week 9:00 x":                "for days and weeks, say on which days",
		"every month x":                    "say on which day of the month",
		"every month 32 9:00 x":            "say on which day of the month",
		"every month 1 x":                  "say at what time, such as month 1 9:00",
		`every cron "0 9 * *" x`:           "no cron line",
		`every cron "0 9 * * 1-5 x`:        "no cron line",
		`every cron "* * * * *" x`:         "at least 5 minutes",
		`every cron "58,0 9 * * *" x`:      "", // two times that are 58 minutes away from each other
		`every cron "58,59 9 * * *" x`:     "at least 5 minutes",
		`every cron "0 0 30 2 *" x`:        "never due",
		`every cron "TZ=UTC 0 9 * * *"`:    "no cron line",
		`every cron "TZ=UTC" x`:            "no cron line",
		`every cron "@daily" x`:            "no cron line",
		`every cron "0 9 * * 8" x`:         "no cron line",
		"cron " + strings.Repeat("1,", 60): "no cron line",
	} {
		r, _, err := parseWhen(text, thursday(), zoneOf(t, "Europe/Berlin"))
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %+v, refused with %v, want %q", text, r, err, want)
		}
	}
}

// What is read is due later, leaves only what was written, and can be read again in other letters.
func FuzzParseWhen(f *testing.F) {
	for _, seed := range []string{
		"18:30 call Bob", "in 2h30m tea", "on friday at 9am x", "2026-12-24T18:00 x", "every mon-fri,sun 9:00 x", "every cron “0 9 * * 7” x",
		"every month 31st 9:00", "every 2h", "in a week x", "cron 0 0 29 2 *", "every TZ=0", "9 pm x", "at", "in 3 days 5 eggs",
	} {
		f.Add(seed, int64(1795711530))
	}
	zone := zoneOf(f, "America/New_York")
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		now := time.Unix(unix%(1<<33), 0)
		r, rest, err := parseWhen(text, now, zone)
		if err != nil {
			if r != (rule{}) && r.Once.IsZero() && r.Words == "" {
				t.Errorf("%q is refused and read as %+v", text, r)
			}
			return
		}
		due, err := r.times(zone)
		if err != nil {
			t.Fatalf("%q is read as %+v: %v", text, r, err)
		}
		first := due.after(now)
		if !first.After(now) {
			t.Errorf("%q at %v is due at %v", text, now, first)
		}
		if second := due.after(first); !second.IsZero() && (second.Sub(first) < minInterval && r.Cron == "" || !second.After(first)) {
			t.Errorf("%q is due at %v and %v", text, first, second)
		}
		if !strings.HasSuffix(strings.TrimSpace(text), rest) || len(rest) >= len(text) && text != "" {
			t.Errorf("%q leaves %q", text, rest)
		}
		if strings.Count(r.Words, "\n") > 0 || len(r.Words) > 200 {
			t.Errorf("%q is said as %q", text, r.Words)
		}
	})
}
