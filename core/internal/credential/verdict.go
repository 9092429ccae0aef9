package credential

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"time"
)

// verdict is what an answer of the API says of the key. The refusals are in order: those that end by themselves first.
type verdict int

const (
	accepted  verdict = iota // nothing against it
	rateLimit                // its account's limit is used up
	billing                  // its account has no credit
	auth                     // it is no key, or not for this
)

// String returns the verdict as the log prints it.
func (v verdict) String() string {
	return [...]string{"accepted", "rate_limit", "billing", "auth"}[v]
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

// noCredit is how the API says that an account has no credit, in an answer that is otherwise that to a bad request.
var noCredit = []byte("credit balance is too low")

// judge reads what an answer says of the key. The answer can still be read as a whole.
func judge(answer *http.Response) verdict {
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

// rest is how long a key rests after an answer.
func rest(v verdict, h http.Header, now time.Time) time.Duration {
	if v != rateLimit {
		return refusedRest
	}
	d, told := wait(h, now)
	if !told {
		return limitedRest
	}
	return min(max(d, shortestRest), longestRest)
}

// wait is how long the API says that a limit holds: in seconds or as a date, or, for subscriptions, as a Unix time.
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
