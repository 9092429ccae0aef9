package domain

import (
	"fmt"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Key is the idempotency key of something that the host does once: a message that it posts, or an event that it submits itself.
// [KeyKind.Of] makes it, so that no two users of keys can make the same one. The zero Key never repeats.
type Key struct {
	kind KeyKind
	text string
}

// KeyKind is the user of keys: one place of the code that does one thing.
type KeyKind int

// The kinds of keys. Each has one user.
const (
	_ KeyKind = iota

	// Messages to a chat, posted by the host.

	KeyLateChange       // that an edit or a deletion came too late
	KeyMissingFile      // that a file is unavailable
	KeyStillOpen        // that a question is still open
	KeyUnheard          // that voice messages are not transcribed
	KeyBypass           // that a turn runs tools without asking
	KeyHeldTurn         // that a turn is held
	KeyWaitsForPlace    // that a message waits for a place
	KeyTooManyQuestions // that a question was not asked
	KeyReminder         // that a question is still to be answered

	// Messages to owners.

	KeyStranger      // of a pairing request
	KeyFolderFull    // of files that were removed
	KeyLeftOut       // that further messages of a kind are left out
	KeyUsageLimit    // of a usage limit
	KeyTrouble       // of what keeps turns from running
	KeyBudget        // of a budget that is used up; and to the chat, that it is not answered
	KeyProblem       // of what is wrong with the host
	KeyServerFails   // of an MCP server that does not start
	KeyServerAsks    // of an MCP server of the workspace that needs a decision
	KeySessionEdited // of another process that wrote into a session
	KeySessionOpened // of another process that opened a session during a turn

	// What the agent and programs do.

	KeyToolCall     // a call of one of the host's tools
	KeyPluginPost   // a message of a plugin
	KeyPluginTurn   // a turn of a plugin
	KeyOperatorPost // a message of a program of the operator
	KeyOperatorTurn // a turn of a program of the operator

	// Events that the host submits itself.

	KeyHeartbeat   // a regular check
	KeyJob         // that a job has ended, or something else that its agent waits for
	KeyMemoryFlush // the turn in which the agent writes down what it must remember
	KeyShortcut    // a command within a message
	KeyResume      // the continuation of a turn that was given up
	KeyLateAnswer  // an answer in words to a question that is closed
)

// keyNames are the beginnings of the kinds' keys. They are in databases, so a name is never changed or used again.
var keyNames = [...]string{
	KeyLateChange:       "late",
	KeyMissingFile:      "missing",
	KeyStillOpen:        "unread",
	KeyUnheard:          "unheard",
	KeyBypass:           "unasked",
	KeyHeldTurn:         "held",
	KeyWaitsForPlace:    "waiting",
	KeyTooManyQuestions: "declined",
	KeyReminder:         "reminder",

	KeyStranger:      "stranger",
	KeyFolderFull:    "crowded",
	KeyLeftOut:       "left out",
	KeyUsageLimit:    "limit",
	KeyTrouble:       "refused",
	KeyBudget:        "budget",
	KeyProblem:       "problem", // "held over" was another kind's
	KeyServerFails:   "mcp",
	KeyServerAsks:    "mcp-asks",
	KeySessionEdited: "intruded",
	KeySessionOpened: "opened",

	KeyToolCall:     "message",
	KeyPluginPost:   "post",
	KeyPluginTurn:   "turn",
	KeyOperatorPost: "send",
	KeyOperatorTurn: "ask",

	KeyHeartbeat:   "heartbeat",
	KeyJob:         "job",
	KeyMemoryFlush: "flush",
	KeyShortcut:    "beside",
	KeyResume:      "resume",
	KeyLateAnswer:  "words",
}

// String returns the beginning of the kind's keys.
func (k KeyKind) String() string { return keyNames[k] }

// Of returns the key of this kind for what the parts identify.
func (k KeyKind) Of(parts ...any) Key {
	key := Key{k, k.String()}
	for _, part := range parts {
		key = key.For(part)
	}
	return key
}

// For returns the key of one part of what k is the key of. That of the zero Key is zero, too.
func (k Key) For(part any) Key {
	if k == (Key{}) {
		return k
	}
	return Key{k.kind, fmt.Sprint(k.text, ":", part)}
}

// Kind returns the key's kind.
func (k Key) Kind() KeyKind { return k.kind }

// String returns the key as the store keeps it; the zero Key is empty.
func (k Key) String() string { return k.text }

// EventID returns the key as the id of an event.
func (k Key) EventID() chat.EventID { return chat.EventID(k.text) }
