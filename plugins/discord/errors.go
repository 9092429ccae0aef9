package main

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
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
	network.CallError

	code    int    // Discord's; zero: none
	details string // of a form that Discord did not take
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

// gone tells whether the channel is not there or not for the bot.
func (e *callError) gone() bool {
	return e.Status == http.StatusNotFound || e.Status == http.StatusForbidden
}

// Reason adds what Discord's codes say to what the status does.
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
