package core

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/command"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/crashpoint"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/permission"
	"github.com/clawhost/clawhost/sdk/chat"
)

// newQuestions returns the desk that asks people what claude may not decide by itself.
func (h *Host) newQuestions(ctx context.Context) (*permission.Approvals, error) {
	return permission.New(ctx, permission.Options{
		Store: h.store, Turns: h.dispatcher, Patience: h.config.Claude.AskTimeout, May: h.decides, Deciders: h.decider,
		Buttons: func(to chat.Address, kind chat.Kind) chat.ButtonLimits {
			return h.conversations.Limits(to.Channel, kind).Buttons
		},
		Asking: h.chats.Asking, Tell: h.tell, Repeat: h.repeat, Notices: h.conversations,
	}, h.log.Named("permission"))
}

// decides tells whether somebody may decide what claude does for anybody: an owner, or whom the config names for it.
func (h *Host) decides(caller chat.Caller) bool {
	if caller.Authority == chat.Owner {
		return true
	}
	listed := h.config.For(caller.Address.Channel).Access.Approvers
	return slices.ContainsFunc(caller.Sender.IDs(), func(id chat.UserID) bool {
		return slices.Contains(listed, caller.Address.Channel+":"+string(id))
	})
}

// decider is the direct chat of the first owner whose channel runs.
func (h *Host) decider(ctx context.Context) (chat.Address, bool) {
	for _, owner := range h.config.Access.Owners {
		channel, user, _ := strings.Cut(owner, ":")
		if _, runs := h.supervisor.Get(channel); !runs {
			continue
		}
		return h.likelyChat(ctx, channel, chat.UserID(user)), true
	}
	return chat.Address{}, false
}

// tell has a session's claude told a text, as if the caller had written it.
func (h *Host) tell(ctx context.Context, id, session string, caller chat.Caller, text string) error {
	known, err := h.store.Session(ctx, session)
	if err != nil {
		return err
	}
	_, err = h.inbox.Tell(ctx, chat.EventID(id), session, known, caller, text)
	return err
}

// repeat has messages of a session answered that were given up.
func (h *Host) repeat(ctx context.Context, id, session string, messages []domain.Message) error {
	for i, m := range messages {
		if _, err := h.inbox.Repeat(ctx, chat.EventID(fmt.Sprint(id, ":", i)), session, m, len(messages) > 1); err != nil {
			return err
		}
	}
	return nil
}

// reading makes a command of a message that answers what claude asks in the chat.
func (h *Host) reading(ctx context.Context, caller chat.Caller, m domain.Message, addressed bool) (domain.Command, bool, error) {
	id, answer, ok, err := h.questions.Reading(ctx, caller, m, addressed)
	return domain.Command{Name: "answer", Args: id + " " + answer, Plain: true}, ok, err
}

// hear takes a plain message for the answer that it was read as.
func (h *Host) hear(ctx context.Context, run *conversation.Turn) (string, error) {
	id, answer, _ := strings.Cut(run.Message.Message.Command.Args, " ")
	told, err := h.questions.Hear(ctx, id, answer, permission.Written{ID: run.Message.UUID, Text: run.Message.Message.Text, Caller: run.Caller})
	if err != nil {
		return "Your answer could not be taken. The host's log says why.", err
	}
	return told, nil
}

// behind tells somebody whose message has come to a turn that waits for an answer that it does: once for each question, for
// what is written there else looks as if it had been the answer.
func (h *Host) behind(ctx context.Context, caller chat.Caller) {
	id, told, ok := h.questions.Unread(caller)
	if !ok {
		return
	}
	if _, err := h.store.Post(ctx, "unread:"+id, h.conversations.Notice(caller.Address, caller.Kind, told)...); err != nil {
		h.log.Warn("nobody is told that a question is still open", "question", id, "error", err)
	}
}

// questionsOf asks the host's desk at each use.
type questionsOf struct{ host *Host }

// Answer takes somebody's answer to a question.
func (q questionsOf) Answer(ctx context.Context, caller chat.Caller, id, answer string) (told string, known bool, err error) {
	told, known, err = q.host.questions.Answer(ctx, caller, id, answer)
	return told, known, err
}

// Open returns the questions that wait for their answers.
func (q questionsOf) Open() []command.OpenQuestion {
	var list []command.OpenQuestion
	for _, o := range q.host.questions.Open() {
		list = append(list, command.OpenQuestion{ID: o.ID, About: o.About, Session: o.Session, Since: o.Since})
	}
	return list
}

// ID returns the id of a question as it is, of what somebody typed.
func (questionsOf) ID(typed string) (id string, ok bool) { return permission.ID(typed) }

// over is told how a turn has ended.
func (h *Host) over(ctx context.Context, run *conversation.Turn, c domain.Completion) {
	crashpoint.Pass("completed") // The answer is durable, the files that go with it are where the agent put them.
	h.questions.End(ctx, run.Session.Key, run.ID, c.State == domain.RunCancelled)
	if err := h.media.outgoing.Clear(ctx, c.Files); err != nil {
		h.log.Warn("sent files stay in their folder", "session", run.Session.Key, "error", err)
	}
}
