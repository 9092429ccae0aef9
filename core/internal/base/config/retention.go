package config

import (
	"strconv"
	"strings"
	"time"
)

// Retention configures for how long the host keeps what was said and sent. Zero: for good.
type Retention struct {
	Transcripts time.Duration // what was said, and Claude's transcripts of ended conversations; default zero
	Media       time.Duration // files of messages, also in the workspaces; default 30 days
	Exports     time.Duration // exported conversations; default zero
}

const (
	leastAge = time.Hour // the host looks this often
	day      = 24 * time.Hour
	mostDays = 36_500
)

func (r *Retention) block() block {
	return block{path: "retention", attrs: []attr{
		{"transcripts", age(&r.Transcripts)},
		{"media", age(&r.Media)},
		{"exports", age(&r.Exports)},
	}}
}

const mustBeAge = `must be a number of days, such as "90d", a duration of an hour or more, such as "36h", or "0": for good`

// age stores for how long something is kept, or zero for good.
func age(to *time.Duration) setter {
	return func(v value) {
		text, ok := v.textOf(mustBeAge)
		if !ok {
			return
		}
		if days, found := strings.CutSuffix(text, "d"); found {
			n, err := strconv.Atoi(days)
			if err != nil || n < 1 || n > mostDays {
				v.refuse("must be from 1 to %d days", mostDays)
				return
			}
			*to = time.Duration(n) * day
			return
		}
		d, err := time.ParseDuration(text)
		if err != nil || d != 0 && d < leastAge {
			v.refuse(mustBeAge)
			return
		}
		if d > mostDays*day {
			v.refuse("must be from 1 to %d days", mostDays)
			return
		}
		*to = d
	}
}
