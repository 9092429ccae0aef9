package domain

import (
	"encoding/json"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Grant is what somebody has allowed for longer than once. It holds for turns of its session and authority, no other ones.
type Grant struct {
	Session       string
	ClaudeSession string // empty: whatever the session's is
	Authority     chat.Authority
	Rule          string
	By            string    // who allowed it, as channel:user
	At            time.Time // given by the store
}

// QuestionState is what became of a question.
type QuestionState string

// The states. An open question is asked; an answered one has an answer that its turn has not taken yet. The others are over.
const (
	QuestionOpen      QuestionState = "open"
	QuestionAnswered  QuestionState = "answered"
	QuestionTaken     QuestionState = "taken"     // the turn has its answer
	QuestionExpired   QuestionState = "expired"   // nobody answered in time
	QuestionWithdrawn QuestionState = "withdrawn" // it is of no use any more
	QuestionVoid      QuestionState = "void"      // its answer is of no use any more
	QuestionUnseen    QuestionState = "unseen"    // its message could not be delivered
)

// Question is what claude asks people before it does something.
type Question struct {
	ID            string // what people name it by; unique
	Session       string
	ClaudeSession string
	Digest        string         // of what is asked: the same again is the same question
	Authority     chat.Authority // of the turn that asks
	Asker         string         // whose turn it is, as channel:user; empty: nobody's
	To            chat.Address   // where it is asked
	Item          int64          // the message that asks; the store gives it
	Unseen        string         // what the session is told where that cannot be delivered
	Body          json.RawMessage
	State         QuestionState
	Answer        json.RawMessage // set from QuestionAnswered on
	CreatedAt     time.Time
	ExpiresAt     time.Time
}
