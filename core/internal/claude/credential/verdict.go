package credential

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"strconv"
	"time"
)

// cause is the reason why the API refused a key. Reasons are in ascending order of severity.
type cause int

const (
	accepted  cause = iota // nothing
	rateLimit              // its account has reached a limit
	billing                // its account has no credit
	auth                   // the key is invalid, or lacks a permission
)

// String returns the cause as the log prints it.
func (c cause) String() string {
	return [...]string{"accepted", "rate_limit", "billing", "auth"}[c]
}

// verdict is what a response says about a key.
type verdict struct {
	why   cause
	until time.Time // end of the suspension of a refused key
}

// compare orders verdicts by when the key will be usable.
func (v verdict) compare(other verdict) int {
	return cmp.Or(cmp.Compare(v.why, other.why), v.until.Compare(other.until))
}

const (
	// maxRefusal limits how much of a refusal is read, in bytes.
	maxRefusal = 64 << 10
	// refusedRest is the suspension of a key that needs the operator's action.
	refusedRest = 30 * time.Minute
	// limitedRest is the suspension of a key at its limit, if the API gives no time.
	limitedRest = time.Minute
	// shortestRest and longestRest limit the API's times.
	shortestRest = time.Second
	longestRest  = 24 * time.Hour
)

// judge reads what a response says about the key. The response can still be read completely.
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

// noCredit is the API's text for an account without credit, in a response to a bad request.
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
		// The client will get the same read error.
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

// limitOf returns how long a rate limit lasts.
func limitOf(h http.Header, now time.Time) time.Duration {
	d, limited := wait(h, now)
	if !limited {
		return limitedRest
	}
	return min(max(d, shortestRest), longestRest)
}

// wait parses the API's time: seconds or a date, or, for subscriptions, a Unix time.
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
