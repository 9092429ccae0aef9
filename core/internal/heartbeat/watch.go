package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/inbox"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// file is the agent's list of what it is to look after.
const file = "HEARTBEAT.md"

// Store is what a watch needs of the store.
type Store interface {
	DirectChat(ctx context.Context, channel, id string) (domain.DirectChat, error)
	Waiting(ctx context.Context, session string, lane domain.Lane) (int, error)
}

// Turns are the running turns.
type Turns interface {
	Running(session string) (since time.Time, running bool)
}

// Inbox takes turns in.
type Inbox interface {
	Turn(ctx context.Context, id domain.Key, m domain.Message) (inbox.Outcome, error)
	Session(ctx context.Context, channel string, c chat.Chat, thread chat.ThreadID) (string, error)
}

// Watch has the agent look after the list in its workspace, and speak in one person's direct chat.
type Watch struct {
	channel   string
	user      chat.UserID
	prompt    string
	workspace *workspace.Workspace
	store     Store
	turns     Turns
	inbox     Inbox
}

// NewWatch returns what a config's heartbeat does. Its error says why there cannot be one.
func NewWatch(c *config.Config, s Store, turns Turns, messages Inbox) (*Watch, error) {
	channel, user, err := target(c)
	if err != nil {
		return nil, err
	}
	return &Watch{
		channel: channel, user: user, prompt: c.Heartbeat.Prompt, workspace: workspace.New(c.Agent.Workspace), store: s, turns: turns, inbox: messages,
	}, nil
}

// target is the person in whose direct chat a heartbeat speaks.
func target(c *config.Config) (channel string, user chat.UserID, err error) {
	target := c.Heartbeat.Target
	if target == "owner" {
		if len(c.Access.Owners) == 0 {
			return "", "", errors.New("heartbeat.target is the owner, and access.owners names none")
		}
		target = c.Access.Owners[0]
	}
	channel, id, _ := strings.Cut(target, ":")
	if p := c.Plugin(channel); p == nil || !p.Enabled {
		return "", "", fmt.Errorf("it would be told to %s, and no plugin %q is enabled", target, channel)
	}
	return channel, chat.UserID(id), nil
}

// Idle implements [Task].
func (w *Watch) Idle(ctx context.Context) (why string, err error) {
	if _, err := w.store.DirectChat(ctx, w.channel, string(w.user)); err != nil {
		return fmt.Sprintf("%s:%s has not written to the agent yet, so that nobody knows in which chat", w.channel, w.user), nil
	}
	key, err := w.inbox.Session(ctx, w.channel, chat.Chat{ID: chat.ID(w.user), Kind: chat.Direct}, "")
	if err != nil {
		return "", err
	}
	return w.nothingToDo(ctx, key)
}

// nothingToDo reports why a heartbeat in a session has nothing to do; "": it has.
func (w *Watch) nothingToDo(ctx context.Context, session string) (string, error) {
	if _, running := w.turns.Running(session); running {
		return "a turn runs", nil
	}
	if waiting, err := w.store.Waiting(ctx, session, domain.TurnLane); err != nil || waiting > 0 {
		return "messages wait", err
	}
	text, err := agent.ReadFile(w.workspace, file)
	switch {
	case errors.Is(err, os.ErrNotExist) && w.prompt != config.HeartbeatPrompt:
		return "", nil // the operator's prompt says what to look after
	case errors.Is(err, os.ErrNotExist):
		return "there is no " + filepath.Join(w.workspace.Dir(), file), nil
	case err != nil || !agent.HeartbeatEmpty(text):
		return "", err
	default:
		return file + " has nothing to do in it", nil
	}
}

// Beat implements [Task].
func (w *Watch) Beat(ctx context.Context, id domain.Key) error {
	to, err := w.store.DirectChat(ctx, w.channel, string(w.user))
	if err != nil {
		return fmt.Errorf("find the chat of %s:%s: %w", w.channel, w.user, err)
	}
	_, err = w.inbox.Turn(ctx, id, domain.Message{
		Channel: w.channel, Chat: chat.Chat{ID: to.Chat, Kind: chat.Direct},
		Sender: chat.Sender{IsBot: true}, Text: w.prompt, Origin: domain.OriginHeartbeat,
	})
	return err
}
