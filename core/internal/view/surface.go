package view

import (
	"context"
	"errors"
	"time"

	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/crashpoint"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/stream"
	"github.com/clawhost/clawhost/sdk/chat"
)

// surface is the chat that a run's turn is shown in.
type surface struct {
	views   *Views
	run     *conversation.Turn
	stop    [][]chat.Button
	preview int64
	message chat.MessageID // what the preview has become; empty: not known yet
	sentAt  time.Time
}

// transientCall bounds a change of what is shown: the next one has more to show.
const transientCall = 5 * time.Second

// Early implements [stream.Surface].
func (s *surface) Early(ctx context.Context, e domain.Early) (preview int64, err error) {
	preview, err = s.views.options.Store.Early(ctx, s.run.ID, e)
	crashpoint.Pass("early") // A part of the answer is durable, the rest is not there yet.
	return preview, err
}

// errNotSent is returned for a preview that is still on its way.
var errNotSent = errors.New("the preview was not sent yet")

// Show implements [stream.Surface].
func (s *surface) Show(ctx context.Context, preview int64, text string) error {
	if s.preview != preview {
		s.preview, s.message = preview, ""
	}
	if s.message == "" {
		var err error
		if s.message, s.sentAt, err = s.views.options.Store.SentItem(ctx, preview); err != nil {
			return errNotSent
		}
	}
	to := s.run.Message.Message.Address()
	if !s.views.options.Conversations.Editable(to.Channel, s.sentAt) {
		return stream.ErrLate
	}
	live, ok := s.views.options.Networks.Get(to.Channel)
	if !ok {
		return errNotSent
	}
	ctx, cancel := context.WithTimeout(ctx, transientCall)
	defer cancel()
	return live.Edit(ctx, to, s.message, text, s.stop)
}

// Draft implements [stream.Surface].
func (s *surface) Draft(ctx context.Context, text string) error {
	to := s.run.Message.Message.Address()
	live, ok := s.views.options.Networks.Get(to.Channel)
	if !ok {
		return errNotSent
	}
	ctx, cancel := context.WithTimeout(ctx, transientCall)
	defer cancel()
	if err := live.Draft(ctx, to, s.run.ID, text); err != nil {
		return s.views.drafts.judge(live, place{to.Channel, s.run.Message.Message.Chat.Kind}, err)
	}
	return nil
}

// Behind implements [stream.Surface].
func (s *surface) Behind(ctx context.Context) (time.Time, error) {
	return s.views.options.Store.OldestUndelivered(ctx, s.run.Message.Message.Address())
}
