package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// callError is a call of the Bot API that failed. It holds no secret.
type callError struct {
	method      string
	code        int    // what the Bot API answered; zero: it did not answer
	description string // the Bot API's, or what happened instead of an answer
	retryAfter  time.Duration
	migratedTo  int64       // the group goes on under this id
	sent        bool        // the request may have reached the server
	ended       error       // the context's error, if it ended the call
	cause       chat.Reason // of a failure that is none of the Bot API's
}

// Error implements error.
func (e *callError) Error() string {
	if e.code == 0 {
		return fmt.Sprintf("%s: %s", e.method, e.description)
	}
	return fmt.Sprintf("%s: %d %s", e.method, e.code, e.description)
}

// Unwrap returns the context's error, if any; all else could hold the token.
func (e *callError) Unwrap() error { return e.ended }

// says tells whether the description has one of the words, which are in lower case.
func (e *callError) says(words ...string) bool {
	description := strings.ToLower(e.description)
	for _, word := range words {
		if strings.Contains(description, word) {
			return true
		}
	}
	return false
}

// unknownOutcome tells whether the call may have had its effect all the same.
func (e *callError) unknownOutcome() bool {
	return e.code == 0 && e.sent || e.code >= http.StatusInternalServerError
}

// badToken tells whether the Bot API does not know the token: 401, or 404 where the token is none at all.
func (e *callError) badToken() bool {
	return e.code == http.StatusUnauthorized || e.code == http.StatusNotFound
}

// failed is failure for an error that may be nil.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return failure(err)
}

// failure is err as the host understands it.
func failure(err error) *chat.Failure {
	f := &chat.Failure{Reason: chat.Temporary, MaybeDelivered: true, Err: err}
	if e, ok := errors.AsType[*callError](err); ok {
		f.Reason, f.MaybeDelivered, f.RetryAfter = e.reason(), e.unknownOutcome(), e.retryAfter
	}
	return f
}

// reason classifies the failure of a call for a chat.
func (e *callError) reason() chat.Reason {
	switch {
	case e.cause != 0:
		return e.cause
	case e.code == http.StatusTooManyRequests:
		return chat.RateLimited
	case e.unknownOutcome(), e.ended != nil:
		return chat.Temporary
	case e.code == 0, e.badToken(), e.code == http.StatusConflict:
		return chat.NotConnected
	case e.code == http.StatusForbidden:
		return chat.Forbidden
	case e.code == http.StatusRequestEntityTooLarge && strings.Contains(e.method, "Message"): // All others bring files.
		return chat.TooLong
	case e.code == http.StatusRequestEntityTooLarge:
		return chat.MediaRejected
	}
	for _, known := range descriptions {
		if e.says(known.words...) {
			return known.reason
		}
	}
	return chat.Invalid
}

// descriptions are Telegram's words for what was wrong with a request that it answers with 400.
var descriptions = []struct {
	reason chat.Reason
	words  []string
}{
	{chat.TargetGone, []string{
		"message to be replied not found", "message to edit not found", "message to delete not found", "message to react not found",
		"message can't be edited", "message can't be deleted", "message_id_invalid",
	}},
	{chat.ChatNotFound, []string{"chat not found", "user not found", "peer_id_invalid", "message thread not found", "group chat was upgraded"}},
	{chat.TooLong, []string{"too long", "too_long"}},
	{chat.Forbidden, []string{
		"not enough rights", "have no rights", "need administrator rights", "chat_write_forbidden", "chat_restricted", "topic_closed",
		"user is blocked", "bot was kicked", "_forbidden",
	}},
	{chat.MediaRejected, []string{
		"wrong file", "file is too big", "file must be non-empty", "photo", "image", "video", "media", "dimensions",
	}},
}
