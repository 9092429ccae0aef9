package network

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/upload"
)

// CallError is the error of a failed call of a network's API. It must not contain secrets.
type CallError struct {
	Call       string // such as "POST message"
	Status     int    // HTTP's; zero: no response
	Message    string
	RetryAfter time.Duration // the wait that the network asks for
	Sent       bool          // whether the request may have reached the network
	Files      bool          // whether the request has files
	Ended      error         // the context's error, if it ended the call
	Cause      chat.Reason   // of a failure that the network did not cause; zero: derived from Status
}

// Error implements error.
func (e *CallError) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("%s: %s", e.Call, e.Message)
	}
	return fmt.Sprintf("%s: %d %s", e.Call, e.Status, e.Message)
}

// Unwrap returns the context's error, if any. Other causes could contain secrets.
func (e *CallError) Unwrap() error { return e.Ended }

// Uncertain reports whether the call may have taken effect in spite of the error.
func (e *CallError) Uncertain() bool {
	return e.Status == 0 && e.Sent || e.Status >= http.StatusInternalServerError || e.Status > 0 && e.Status < http.StatusBadRequest
}

// MayPass reports whether the same call may succeed soon.
func (e *CallError) MayPass() bool {
	return e.Ended != nil || e.Status == 0 && e.Cause == 0 || e.Status == http.StatusTooManyRequests || e.Uncertain()
}

// Wait returns how long the network asks to wait.
func (e *CallError) Wait() time.Duration { return e.RetryAfter }

// Reason returns what the status means for a call about a chat. Channels know more from the network's error codes.
func (e *CallError) Reason() chat.Reason {
	switch {
	case e.Cause != 0:
		return e.Cause
	case e.Status == http.StatusTooManyRequests:
		return chat.RateLimited
	case e.Uncertain(), e.Ended != nil:
		return chat.Temporary
	case e.Status == 0, e.Status == http.StatusUnauthorized:
		return chat.NotConnected
	case e.Status == http.StatusForbidden:
		return chat.Forbidden
	case e.Status == http.StatusNotFound:
		return chat.ChatNotFound
	case e.Status == http.StatusRequestEntityTooLarge && e.Files:
		return chat.MediaRejected
	case e.Status == http.StatusRequestEntityTooLarge:
		return chat.TooLong
	default:
		return chat.Invalid
	}
}

// failed is a failed call of any network: a [*CallError], or an error that embeds one.
type failed interface {
	error
	Uncertain() bool
	MayPass() bool
	Wait() time.Duration
	Reason() chat.Reason
}

func asFailed(err error) (failed, bool) {
	if err == nil {
		return nil, false
	}
	return errors.AsType[failed](err)
}

// Failure converts err for the host: it returns a [*chat.Failure], or nil for nil. An error that is not a failed call may
// have taken effect.
func Failure(err error) error {
	if _, known := errors.AsType[*chat.Failure](err); err == nil || known {
		return err
	}
	f := &chat.Failure{Reason: chat.Temporary, MaybeDelivered: true, Err: err}
	if e, ok := asFailed(err); ok {
		f.Reason, f.MaybeDelivered, f.RetryAfter = e.Reason(), e.Uncertain(), e.Wait()
	}
	return f
}

// Refuse returns a failure for a message of which nothing was sent. The format takes the verbs of package fmt, including
// %w.
func Refuse(reason chat.Reason, format string, args ...any) *chat.Failure {
	return &chat.Failure{Reason: reason, Err: fmt.Errorf(format, args...)}
}

// Unread returns the error of a call whose files the host could not provide because of err. The request did not reach the
// network completely.
func Unread(call string, err error) CallError {
	e := CallError{Call: call, Files: true, Cause: chat.Temporary, Message: "the host's file cannot be read: " + err.Error()}
	switch {
	case errors.Is(err, sdk.ErrNotFound):
		e.Cause, e.Message = chat.MediaRejected, "the host has no such file"
	case errors.Is(err, upload.ErrSize):
		e.Cause = chat.MediaRejected
	}
	return e
}

// WithoutAddress removes the addresses of a request and of proxies from an error: they may contain secrets.
func WithoutAddress(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// Progress records how far a request got.
type Progress struct{ sent atomic.Bool }

// Context returns a context for the request that updates Progress.
func (p *Progress) Context(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// A request is retried on another connection only if nothing of it was sent on the first.
		GetConn: func(string) { p.sent.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { p.sent.Store(true) },
	})
}

// Sent reports whether the request may have reached the network.
func (p *Progress) Sent() bool { return p.sent.Load() }
