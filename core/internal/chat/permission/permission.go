// Package permission asks people what claude may not decide by itself: whether it may use a tool, which of several
// options it should choose, whether they approve its plan. A question is a message with buttons, or with numbers where
// a chat has none, and a row of the store. The rows are all that is known of questions, so that they and their answers
// survive a restart of the host; memory holds only the turns that wait.
package permission

import (
	"context"
	"encoding/json"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/activity"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/notice"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Store is what questions need of the store.
type Store interface {
	Ask(ctx context.Context, run int64, q domain.Question, items ...domain.OutboxItem) (domain.Question, error)
	AskAlso(ctx context.Context, run int64, id string, m domain.QuestionMessage, further bool, items ...domain.OutboxItem) (domain.Question, error)
	Settle(ctx context.Context, id string, state domain.QuestionState, answer json.RawMessage, said string,
		grants ...domain.Grant) (domain.Question, bool, error)
	TakeAnswers(ctx context.Context, ids ...string) error
	Redraft(ctx context.Context, id string, was, body json.RawMessage) (bool, error)
	Question(ctx context.Context, id string) (domain.Question, error)
	// WatchQuestions returns a channel that receives a value when a question may have changed. The func ends the watch.
	WatchQuestions() (<-chan struct{}, func())
	Questions(ctx context.Context) ([]domain.Question, error)
	QuestionsOf(ctx context.Context, session string) ([]domain.Question, error)
	OpenQuestions(ctx context.Context, at chat.Address, person chat.ID, noted string) ([]domain.Question, error)
	Grants(ctx context.Context, session string) ([]domain.Grant, error)
	Post(ctx context.Context, key domain.Key, items ...domain.OutboxItem) (int64, error)
	SentItem(ctx context.Context, item int64) (chat.MessageID, time.Time, error)
	// Unfinished reports whether a session's turn was begun in a claude session and is not completed.
	Unfinished(ctx context.Context, session, claudeSession string) (bool, error)
}

// Options are the settings and collaborators of approvals.
type Options struct {
	Store         Store
	Dispatcher    *dispatch.Dispatcher
	Conversations *conversation.Resolver
	Owners        *notice.Owners // know the direct chats of people
	Chats         *activity.Chats
	Intake        Intake
}

// Intake takes messages for sessions.
type Intake interface {
	// Tell accepts a text for a session, as if the caller had written it. The same id is accepted once.
	Tell(ctx context.Context, id domain.Key, session string, caller chat.Caller, text string) error
	// Repeat accepts messages of a session that were given up, again, to be answered together. The same id is accepted
	// once.
	Repeat(ctx context.Context, id domain.Key, session string, messages []domain.Message) error
}

// Approvals asks the questions and takes the answers.
type Approvals struct {
	options Options
	log     hclog.Logger
	waiters waiters
}

// New returns approvals that know all questions of the store.
func New(options Options, log hclog.Logger) *Approvals {
	return &Approvals{options: options, log: log}
}
