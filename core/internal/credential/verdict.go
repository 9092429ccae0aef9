package credential

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"strconv"
	"time"
)

// cause is what an answer of the API has against a key. They are in order: what ends by itself is the least.
type cause int

const (
	accepted  cause = iota // nothing
	rateLimit              // its account's limit is used up
	billing                // its account has no credit
	auth                   // it is no key, or not for this
)

// String returns the cause as the log prints it.
func (c cause) String() string {
	return [...]string{"accepted", "rate_limit", "billing", "auth"}[c]
}

// verdict is what an answer of the API says of a key.
type verdict struct {
	why   cause
	until time.Time // a key that was refused rests
}

// compare puts the key that will be good again first before the other.
func (v verdict) compare(other verdict) int {
	return cmp.Or(cmp.Compare(v.why, other.why), v.until.Compare(other.until))
}

const (
	// maxRefusal is how much is read of a refusal, in bytes.
	maxRefusal = 64 << 10
	// refusedRest is how long a key rests for which somebody has to do something.
	refusedRest = 30 * time.Minute
	// limitedRest is how long one rests whose limit is used up, if nobody says when it is not any more.
	limitedRest = time.Minute
	// shortestRest and longestRest bound what the API says.
	shortestRest = time.Second
	longestRest  = 24 * time.Hour
)

// judge reads what an answer says of the key. The answer can still be read as a whole.
func judge(answer *http.Response) verdict {
	now := time.Now()
	switch why := against(answer); why {
	case accepted:
		return verdict{}
	case rateLimit:
		return verdict{why, now.Add(limitOf(answer.Header, now))}
	default:
		return verdict{why, now.Add(refusedRest)}
	}
}

// noCredit is how the API says that an account has no credit, in an answer that is otherwise that to a bad request.
var noCredit = []byte("credit balance is too low")

func against(answer *http.Response) cause {
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return auth
	case http.StatusPaymentRequired:
		return billing
	case http.StatusTooManyRequests:
		return rateLimit
	case http.StatusBadRequest:
		// What cannot be read now, whoever asked cannot read either.
		text, _ := io.ReadAll(io.LimitReader(answer.Body, maxRefusal))
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(text), answer.Body), answer.Body}
		if bytes.Contains(bytes.ToLower(text), noCredit) {
			return billing
		}
	}
	return accepted
}

// limitOf is how long a limit holds.
func limitOf(h http.Header, now time.Time) time.Duration {
	d, told := wait(h, now)
	if !told {
		return limitedRest
	}
	return min(max(d, shortestRest), longestRest)
}

// wait is what the API says of that: seconds or a date, or, for subscriptions, a Unix time.
func wait(h http.Header, now time.Time) (time.Duration, bool) {
	after := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(after, 64); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, longestRest.Seconds()) * float64(time.Second)), true
	}
	if at, err := http.ParseTime(after); err == nil {
		return at.Sub(now), true
	}
	if at, err := strconv.ParseInt(h.Get("Anthropic-Ratelimit-Unified-Reset"), 10, 64); err == nil {
		return time.Unix(at, 0).Sub(now), true
	}
	return 0, false
}
