package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Discord's codes of errors that mean something to the host.
const (
	unknownChannel     = 10003
	tooLarge           = 40005
	answeredAlready    = 40060
	unknownMessage     = 10008
	notToThisUser      = 50007
	invalidForm        = 50035
	threadArchived     = 50083
	replyTargetUnknown = 160002
)

// callError is a REST call that failed. It holds no secret.
type callError struct {
	what       string // such as "POST message"
	status     int    // HTTP's; zero: no answer came
	code       int    // Discord's; zero: none
	message    string
	details    string // of a form that Discord did not take
	retryAfter time.Duration
	sent       bool  // the request may have reached Discord
	files      bool  // the request had files
	missing    bool  // and the host does not have one of them, or not as it said
	ended      error // the context's error, if it ended the call
}

// Error implements error.
func (e *callError) Error() string {
	if e.status == 0 {
		return fmt.Sprintf("%s: %s", e.what, e.message)
	}
	return fmt.Sprintf("%s: %d %s (code %d)", e.what, e.status, e.message, e.code)
}

// Unwrap returns the context's error, if any; all else could hold a secret.
func (e *callError) Unwrap() error { return e.ended }

// unknownOutcome tells whether the call may have had its effect all the same.
func (e *callError) unknownOutcome() bool {
	return e.status == 0 && e.sent || e.status >= http.StatusInternalServerError || e.status > 0 && e.status < http.StatusBadRequest
}

// mayPass tells whether the same call may succeed soon.
func (e *callError) mayPass() bool {
	return e.ended == nil && (e.status == 0 || e.status == http.StatusTooManyRequests || e.unknownOutcome())
}

// gone tells whether the channel is not there or not for the bot.
func (e *callError) gone() bool {
	return e.status == http.StatusNotFound || e.status == http.StatusForbidden
}

// reason classifies the failure of a call for a chat.
func (e *callError) reason() chat.Reason {
	switch {
	case e.missing:
		return chat.MediaRejected
	case e.status == http.StatusTooManyRequests:
		return chat.RateLimited
	case e.unknownOutcome(), e.ended != nil:
		return chat.Temporary
	case e.status == 0, e.status == http.StatusUnauthorized:
		return chat.NotConnected
	case e.code == unknownMessage, e.code == replyTargetUnknown:
		return chat.TargetGone
	case e.code == unknownChannel, e.status == http.StatusNotFound:
		return chat.ChatNotFound
	case e.code == threadArchived, e.code == notToThisUser, e.status == http.StatusForbidden:
		return chat.Forbidden
	case e.files && (e.status == http.StatusRequestEntityTooLarge || e.code == tooLarge):
		return chat.MediaRejected
	case e.status == http.StatusRequestEntityTooLarge, e.code == invalidForm && strings.Contains(e.details, "BASE_TYPE_MAX_LENGTH"):
		return chat.TooLong
	default:
		return chat.Invalid
	}
}

// failure is err as the host understands it.
func failure(err error) error {
	if _, known := errors.AsType[*chat.Failure](err); err == nil || known {
		return err
	}
	f := &chat.Failure{Reason: chat.Temporary, MaybeDelivered: true, Err: err}
	if e, ok := errors.AsType[*callError](err); ok {
		f.Reason, f.MaybeDelivered, f.RetryAfter = e.reason(), e.unknownOutcome(), e.retryAfter
	}
	return f
}

func refuse(reason chat.Reason, why string) error {
	return &chat.Failure{Reason: reason, Err: errors.New(why)}
}
