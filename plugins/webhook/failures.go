package main

import (
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// failuresAtOnce refused requests are told that their signature is wrong; after that, one each second is.
	failuresAtOnce = 20
	// reportEvery is the minimum interval of log lines about failed requests.
	reportEvery = time.Minute
)

// failures counts the requests without a valid signature.
type failures struct {
	log   *slog.Logger
	limit *rate.Limiter

	mu       sync.Mutex
	silent   int // since the last line
	reported time.Time
}

func newFailures(log *slog.Logger) *failures {
	return &failures{log: log, limit: rate.NewLimiter(1, failuresAtOnce)}
}

// note notes a failure. It reports false if there are too many to be answered as such.
func (f *failures) note(hook string, why error, now time.Time) bool {
	f.mu.Lock()
	if now.Sub(f.reported) >= reportEvery {
		f.log.Warn("a request to a hook is refused", "hook", hook, "error", why, "refused_before", f.silent)
		f.reported, f.silent = now, 0
	} else {
		f.silent++
	}
	f.mu.Unlock()
	return f.limit.AllowN(now, 1)
}
