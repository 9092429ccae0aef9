package main

import (
	"net/http"
	"strings"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// callError is a failed call of the Bot API. It contains no secret. Its status is that of the Bot API's response.
type callError struct {
	network.CallError

	migratedTo int64 // the group's new id
}

func newCallError(method string, status int, message string) *callError {
	return &callError{CallError: network.CallError{Call: method, Status: status, Message: message}}
}

// says reports whether the description contains one of the words, which are in lower case.
func (e *callError) says(words ...string) bool {
	description := strings.ToLower(e.Message)
	for _, word := range words {
		if strings.Contains(description, word) {
			return true
		}
	}
	return false
}

// badToken reports whether the Bot API rejects the token: 401, or 404 if it is malformed.
func (e *callError) badToken() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusNotFound
}

// Reason refines the reason by Telegram's description.
func (e *callError) Reason() chat.Reason {
	switch {
	case e.badToken(), e.Status == http.StatusConflict:
		return chat.NotConnected
	case e.Status == http.StatusBadRequest:
		for _, known := range descriptions {
			if e.says(known.words...) {
				return known.reason
			}
		}
	}
	return e.CallError.Reason()
}

// descriptions are Telegram's texts for errors with the status 400.
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
