package turn

import (
	"context"
	"errors"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/sdk/chat"
)

// command answers a slash command.
func (h *Handler) command(ctx context.Context, run *conversation.Run) error {
	said, err := h.options.Commands.Answer(ctx, run)
	if run.Lane == domain.ShellLane && errors.Is(err, agent.ErrShutdown) {
		return err
	}
	answer, stopped := said.Text, run.Lane == domain.ShellLane && errors.Is(context.Cause(ctx), agent.ErrStopped)
	done := domain.Completion{State: domain.RunDone, Answer: answer}
	if err != nil {
		h.log.Error("a command failed", "session", run.Session.Key, "error", err)
		done.State, done.Error = domain.RunFailed, err.Error()
	}
	if answer == "" && run.Head.Message.Command.Plain {
		done.Transcript = []chat.TranscriptEntry{{Role: chat.User, Text: run.Head.Message.Written(), At: run.Head.ReceivedAt}}
	}
	if answer != "" {
		done.Items = h.notice(run, answer)
		if n := len(done.Items); n > 0 && len(said.Rows) > 0 {
			done.Items[n-1].Buttons = conversation.Arrange(run.Limits.Buttons, said.Rows)
		} else if n > 0 && len(said.Buttons) > 0 {
			done.Items[n-1].Buttons = conversation.Rows(run.Limits.Buttons, said.Buttons)
		}
		// The transcript records the choice; the command itself notes for the next turn what matters to the agent.
		done.Transcript = []chat.TranscriptEntry{{Role: chat.System, Text: run.Head.Message.Written() + " → " + answer, At: time.Now()}}
	}
	if len(said.Media) > 0 {
		done.Items = append(done.Items, domain.OutboxItem{To: run.Head.Message.Address(), Media: said.Media})
	}
	if stopped {
		done.State = domain.RunCancelled
	}
	if err := h.complete(ctx, run, done); err != nil || !stopped {
		return err
	}
	return agent.ErrStopped
}
