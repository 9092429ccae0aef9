package domain

import (
	"github.com/google/uuid"

	"github.com/clawhost/clawhost/sdk/chat"
)

// messageNamespace is the namespace of the messages' uuids. It never changes: claude recognises a message by its uuid.
var messageNamespace = uuid.MustParse("5d2c7c5e-8b0f-4a57-9a3c-6f0f6b1f2e11")

// MessageUUID is the id of an event's message for claude, the same in every process.
func MessageUUID(channel string, id chat.EventID) string {
	return uuid.NewSHA1(messageNamespace, []byte(channel+"\x00"+string(id))).String()
}
