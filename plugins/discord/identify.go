package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/clawhost/clawhost/sdk"

	"github.com/clawhost/clawhost/sdk/network"
)

// identifiedKey stores when the bot last started a session, in Unix milliseconds. Discord allows one start in 5 seconds,
// also across processes.
const identifiedKey = "identified"

// awaitIdentify waits until the bot may start a session.
func (s *session) awaitIdentify(ctx context.Context) error {
	last := s.identified
	if last.IsZero() {
		raw, _, err := s.state.Get(ctx, identifiedKey)
		if err != nil && !errors.Is(err, sdk.ErrNotFound) {
			return fmt.Errorf("read the start of the last session: %w", err)
		}
		at, _ := strconv.ParseInt(string(raw), 10, 64)
		last = time.UnixMilli(at)
	}
	// The wait is limited in case the clock was set back.
	if wait := min(s.pace.identify, time.Until(last.Add(s.pace.identify))); wait > 0 && !network.Pause(ctx, wait) {
		return ctx.Err()
	}
	return nil
}

// noteIdentify stores that a session is about to start, for the next process.
func (s *session) noteIdentify(ctx context.Context) error {
	s.identified = time.Now()
	if _, err := s.state.Put(ctx, identifiedKey, strconv.AppendInt(nil, s.identified.UnixMilli(), 10)); err != nil {
		return fmt.Errorf("record the start of a session: %w", err)
	}
	return nil
}

// address returns the gateway's address. Discord limits the sessions that a bot starts in a day, and resets the token of a
// bot that exceeds the limit: then the bot waits.
func (s *session) address(ctx context.Context) (string, error) {
	if s.ID != "" && s.URL != "" {
		return s.URL, nil
	}
	var found struct {
		URL    string
		Starts *struct {
			Remaining  int
			ResetAfter int64 `json:"reset_after"` // milliseconds
		} `json:"session_start_limit"`
	}
	const what = "GET gateway"
	if err := s.rest.call(ctx, what, http.MethodGet, "gateway/bot", nil, &found); err != nil {
		return "", err
	}
	if found.Starts != nil && found.Starts.Remaining <= 0 && s.ID == "" {
		e := newCallError(what, http.StatusTooManyRequests, "the bot has started as many sessions as Discord allows in a day")
		e.RetryAfter = min(24*time.Hour, time.Duration(found.Starts.ResetAfter)*time.Millisecond)
		return "", e
	}
	return found.URL, nil
}
