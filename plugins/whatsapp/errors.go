package main

import (
	"errors"
	"strings"
	"time"

	"go.mau.fi/whatsmeow"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// slowDown is how long the host waits after WhatsApp's rate limit, which gives no time.
const slowDown = time.Minute

// failure converts the library's error of sending for the host. A message with an unknown outcome is resent with the same
// id, which phones show once.
func failure(err error) *chat.Failure {
	f := &chat.Failure{Reason: chat.Temporary, MaybeDelivered: true, Err: network.WithoutAddress(err)}
	switch {
	case errors.Is(err, whatsmeow.ErrNotConnected), errors.Is(err, whatsmeow.ErrNotLoggedIn):
		f.Reason, f.MaybeDelivered = chat.NotConnected, false
	case errors.Is(err, whatsmeow.ErrServerReturnedError):
		f.Reason, f.MaybeDelivered = serverReason(err), false
	case errors.Is(err, whatsmeow.ErrGroupNotFound), strings.Contains(err.Error(), "no LID found"):
		f.Reason, f.MaybeDelivered = chat.ChatNotFound, false
	case errors.Is(err, whatsmeow.ErrNotInGroup):
		f.Reason, f.MaybeDelivered = chat.Forbidden, false
	}
	if f.Reason == chat.RateLimited {
		f.RetryAfter = slowDown
	}
	return f
}

// serverReason returns the reason for the code at the end of the library's error text.
func serverReason(err error) chat.Reason {
	text := err.Error()
	switch text[strings.LastIndexByte(text, ' ')+1:] {
	case "401", "403", "463", "475", "479":
		return chat.Forbidden
	case "404":
		return chat.ChatNotFound
	case "420", "429":
		return chat.RateLimited
	case "413":
		return chat.TooLong
	case "500", "503":
		return chat.Temporary
	default:
		return chat.Invalid
	}
}
