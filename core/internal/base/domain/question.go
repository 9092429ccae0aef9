package domain

import (
	"encoding/json"
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
	To            chat.Address   // where it is asked
	Item          int64          // the item that asks; set by the store
	Unseen        string         // a note for the session if that cannot be delivered
	Body          json.RawMessage
	State         QuestionState
	Answer        json.RawMessage // set from QuestionAnswered on
	CreatedAt     time.Time
	ExpiresAt     time.Time
}
