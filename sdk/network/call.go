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

// CallError is a call of a network's API that failed. Whoever makes one keeps secrets out of it.
type CallError struct {
	Call       string // such as "POST message"
	Status     int    // HTTP's; zero: no answer came
	Message    string
	RetryAfter time.Duration // what the network asks for
	Sent       bool          // the request may have reached the network
	Files      bool          // it has files
	Ended      error         // the context's error, if that ended the call
	Cause      chat.Reason   // of a failure that is none of the network's; zero: the status tells
}

// Error implements error.
func (e *CallError) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("%s: %s", e.Call, e.Message)
	}
	return fmt.Sprintf("%s: %d %s", e.Call, e.Status, e.Message)
}

// Unwrap returns the context's error, if any; all else could hold a secret.
func (e *CallError) Unwrap() error { return e.Ended }

// Uncertain reports whether the call may have had its effect all the same.
func (e *CallError) Uncertain() bool {
	return e.Status == 0 && e.Sent || e.Status >= http.StatusInternalServerError || e.Status > 0 && e.Status < http.StatusBadRequest
}

// MayPass reports whether the same call may succeed soon.
func (e *CallError) MayPass() bool {
	return e.Ended != nil || e.Status == 0 && e.Cause == 0 || e.Status == http.StatusTooManyRequests || e.Uncertain()
}

// Wait is how long the network asks to wait.
func (e *CallError) Wait() time.Duration { return e.RetryAfter }

// Reason is what the status means for a call about a chat. The words and codes of a network say more.
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

// failed is a failed call of any network: a [*CallError], or what has one embedded.
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

// Failure is err as the host understands it: a [*chat.Failure], or nil for nil. What is no failed call may have had its
// effect.
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

// Refuse is a failure of which nothing has reached the network. Its text may have the verbs of package fmt, and %w.
func Refuse(reason chat.Reason, format string, args ...any) *chat.Failure {
	return &chat.Failure{Reason: reason, Err: fmt.Errorf(format, args...)}
}

// Unread is the failure of a call whose files the host did not give, for err. It did not reach the network as a whole.
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

// WithoutAddress leaves out where a request went: addresses, and those of proxies, may hold secrets.
func WithoutAddress(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// Progress is how far a request came.
type Progress struct{ sent atomic.Bool }

// Context returns the context of the request, from which Progress learns.
func (p *Progress) Context(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// A request is tried on another connection only if nothing of it was sent on the first.
		GetConn: func(string) { p.sent.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { p.sent.Store(true) },
	})
}

// Sent reports whether the request may have reached the network.
func (p *Progress) Sent() bool { return p.sent.Load() }
