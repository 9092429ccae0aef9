package main

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// Discord's error codes that mean something to the host.
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

// callError is a failed REST call. It contains no secret.
type callError struct {
	network.CallError

	code    int    // Discord's; zero: none
	details string // of a form that Discord refused
}

func newCallError(what string, status int, message string) *callError {
	return &callError{CallError: network.CallError{Call: what, Status: status, Message: message}}
}

// Error implements error.
func (e *callError) Error() string {
	if e.Status == 0 {
		return e.CallError.Error()
	}
	return fmt.Sprintf("%s (code %d)", e.CallError.Error(), e.code)
}

// gone reports whether the channel does not exist or is not accessible to the bot.
func (e *callError) gone() bool {
	return e.Status == http.StatusNotFound || e.Status == http.StatusForbidden
}

// Reason refines the reason by Discord's codes.
func (e *callError) Reason() chat.Reason {
	known := e.Status >= http.StatusBadRequest && e.Status < http.StatusInternalServerError && e.Status != http.StatusTooManyRequests
	switch {
	case !known:
	case e.code == unknownMessage, e.code == replyTargetUnknown:
		return chat.TargetGone
	case e.code == unknownChannel:
		return chat.ChatNotFound
	case e.code == threadArchived, e.code == notToThisUser:
		return chat.Forbidden
	case e.Files && e.code == tooLarge:
		return chat.MediaRejected
	case e.code == invalidForm && strings.Contains(e.details, "BASE_TYPE_MAX_LENGTH"):
		return chat.TooLong
	}
	return e.CallError.Reason()
}
