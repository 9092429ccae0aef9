package view

import (
	"context"
	"errors"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/crashpoint"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/chat"
)

// surface is the chat that shows a run's turn.
type surface struct {
	view    *View
	preview int64
	message chat.MessageID // the message that shows the preview; empty: not known yet
	sentAt  time.Time
}

// transientCall bounds one update of what is shown: the next update contains more.
const transientCall = 5 * time.Second

// Early implements [stream.Surface].
func (s *surface) Early(ctx context.Context, e domain.Early) (preview int64, err error) {
	s.view.signed(e.Items)
	if e.Preview != nil {
		e.Preview.Agent = s.view.run.Author
	}
	preview, err = s.view.views.options.Store.Early(ctx, s.view.run.ID, e)
	crashpoint.Pass("early") // A part of the answer is durable, the rest is not there yet.
	if err == nil && (len(e.Items) > 0 || e.Preview != nil) {
		s.view.see()
	}
	return preview, err
}

// Files implements [stream.Surface]. The answer reports files that cannot be taken. A file that changes after it was taken
// counts as a new file and is sent with the answer.
func (s *surface) Files(ctx context.Context, paths []string, voice bool) domain.Early {
	w := s.view.wanted()
	w.Paths, w.Named, w.Voice = paths, true, voice
	found, err := s.view.views.options.Files[s.view.run.Agent.Label].Collect(ctx, w)
	if err != nil || len(found.Media) == 0 {
		return domain.Early{}
	}
	return domain.Early{
		Items: []domain.OutboxItem{{To: s.view.run.Head.Message.Address(), Media: found.Media}},
		Sent:  &domain.SentByTool{Files: found.Sent}, Files: found.Files,
	}
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
		if s.message, s.sentAt, err = s.view.views.options.Store.SentItem(ctx, preview); err != nil {
			return errNotSent
		}
	}
	to := s.view.run.Head.Message.Address()
	if !s.view.run.Editable(s.sentAt) {
		return stream.ErrLate
	}
	live, ok := s.view.views.options.Plugins.Get(to.Channel)
	if !ok {
		return errNotSent
	}
	ctx, cancel := context.WithTimeout(ctx, transientCall)
	defer cancel()
	return live.Edit(ctx, to, s.message, text, s.view.stop())
}

// Draft implements [stream.Surface].
func (s *surface) Draft(ctx context.Context, text string) error {
	to := s.view.run.Head.Message.Address()
	live, ok := s.view.views.options.Plugins.Get(to.Channel)
	if !ok {
		return errNotSent
	}
	ctx, cancel := context.WithTimeout(ctx, transientCall)
	defer cancel()
	if err := live.Draft(ctx, to, s.view.run.ID, text); err != nil {
		return s.view.views.drafts.judge(live, place{to.Channel, s.view.run.Head.Message.Chat.Kind}, err)
	}
	if text != "" {
		s.view.see()
	}
	return nil
}

// Behind implements [stream.Surface].
func (s *surface) Behind(ctx context.Context) (time.Time, error) {
	return s.view.views.options.Store.OldestUndelivered(ctx, s.view.run.Head.Message.Address())
}

// Deletes implements [stream.Surface].
func (s *surface) Deletes() bool {
	live, ok := s.view.views.options.Plugins.Get(s.view.run.Head.Message.Channel)
	return ok && live.Can(remote.Delete)
}
