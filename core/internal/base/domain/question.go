package domain

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Grant is a permission for more than one use. It applies only to turns of its session and authority.
type Grant struct {
	Session       string
	ClaudeSession string // empty: any of the session
	Authority     chat.Authority
	Rule          string
	By            string    // who allowed it, as channel:user
	At            time.Time // set by the store
}

// QuestionState is the state of a question.
type QuestionState string

// The states. An open question is asked; an answered one has an answer that its turn has not received yet. The others are
// final.
const (
	QuestionOpen      QuestionState = "open"
	QuestionAnswered  QuestionState = "answered"
	QuestionTaken     QuestionState = "taken"     // the turn has received the answer
	QuestionExpired   QuestionState = "expired"   // not answered in time
	QuestionWithdrawn QuestionState = "withdrawn" // no longer needed
	QuestionVoid      QuestionState = "void"      // its answer is no longer needed
	QuestionUnseen    QuestionState = "unseen"    // its message could not be delivered
)

// Question is a question of claude to people before it does something.
type Question struct {
	ID            string // the id that people use; unique
	Session       string
	ClaudeSession string
	Digest        string         // of the content: equal digests are the same question
	Authority     chat.Authority // the turn's
	Asker         string         // the person of the turn, as channel:user; empty: none
	// Messages ask it, in the order in which they were sent. There is one when the question is stored; without a person it is in
	// the chat of the turn.
	Messages  []QuestionMessage
	Further   bool   // others are asked if none of the messages arrives
	Unseen    string // a note for the session if nobody could be asked
	Body      json.RawMessage
	State     QuestionState
	Answer    json.RawMessage // set from QuestionAnswered on
	Outcome   string          // what its messages say since it is answered or ended; empty: as before
	CreatedAt time.Time
	ExpiresAt time.Time
}

// To returns where it was asked first.
func (q Question) To() chat.Address {
	if len(q.Messages) == 0 { // its chat was forgotten
		return chat.Address{}
	}
	return q.Messages[0].To
}

// Lost reports whether none of its messages could be delivered.
func (q Question) Lost() bool {
	return !slices.ContainsFunc(q.Messages, func(m QuestionMessage) bool { return !m.Lost })
}

// QuestionMessage is a message that asks a question.
type QuestionMessage struct {
	Person   string // in whose direct chat it is, as channel:user; empty: it is in the chat of the turn
	Numbered bool   // it has numbers in place of buttons
	Pinned   bool   // it is pinned while the question is open, where the channel may

	// The others are set by the store.
	To      chat.Address
	Item    int64 // the item that asks
	Lost    bool  // it could not be delivered
	AskedAt time.Time
}
