// Package heartbeat runs regular turns in which the agent checks what it was asked to watch.
package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/chat/inbox"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// file is the agent's list of what it is to look after.
const file = "HEARTBEAT.md"

// Heartbeat has the agent look after the list in its workspace at intervals, and speak in one person's direct chat.
type Heartbeat struct {
	agent     string
	config    config.Heartbeat
	zone      *time.Location
	channel   string
	user      chat.UserID
	workspace *workspace.Workspace
	store     *store.Store
	intake    *inbox.Intake
	log       hclog.Logger
}

// New returns the heartbeat of an agent, whose interval is more than zero. Run starts it. The error says why there cannot be one.
func New(c *config.Config, a *config.Agent, s *store.Store, intake *inbox.Intake, log hclog.Logger) (*Heartbeat, error) {
	channel, user, err := target(c, a.Heartbeat.Target)
	if err != nil {
		return nil, err
	}
	return &Heartbeat{
		agent: a.Label, config: a.Heartbeat, zone: a.Timezone, channel: channel, user: user, workspace: workspace.New(a.Workspace),
		store: s, intake: intake, log: log,
	}, nil
}

// Run runs the heartbeats of the agents that have one, until ctx ends. After a reload of the config those run that it has then.
func Run(ctx context.Context, c *config.Current, s *store.Store, intake *inbox.Intake, log hclog.Logger) {
	for ctx.Err() == nil {
		beats := all(c.Get(), s, intake, log)
		beating, end := context.WithCancel(ctx)
		var running sync.WaitGroup
		for _, beat := range beats {
			running.Go(func() { beat.Run(beating) })
		}
		for same := true; same && ctx.Err() == nil; {
			changed := c.Changed()
			same = slices.EqualFunc(beats, all(c.Get(), s, intake, log), (*Heartbeat).same)
			if !same {
				break
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
		end()
		running.Wait()
	}
}

// same reports whether another heartbeat does the same.
func (h *Heartbeat) same(other *Heartbeat) bool {
	return h.agent == other.agent && h.config == other.config && h.channel == other.channel && h.user == other.user
}

// all returns the heartbeats of the agents that have one. What cannot be is logged.
func all(c *config.Config, s *store.Store, intake *inbox.Intake, log hclog.Logger) (list []*Heartbeat) {
	for _, a := range c.AllAgents() {
		if a.Heartbeat.Every == 0 {
			continue
		}
		beat, err := New(c, a, s, intake, log)
		if err != nil {
			log.Error("there will be no heartbeat", "agent", a.Label, "error", err)
			continue
		}
		list = append(list, beat)
	}
	return list
}

// target is the person in whose direct chat a heartbeat speaks.
func target(c *config.Config, target string) (channel string, user chat.UserID, err error) {
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

// Run beats until ctx ends, first after one interval.
func (h *Heartbeat) Run(ctx context.Context) {
	tick := time.NewTicker(h.config.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if err := h.tick(ctx, now); err != nil && ctx.Err() == nil {
				h.log.Error("a heartbeat failed", "error", err)
			}
		}
	}
}

func (h *Heartbeat) tick(ctx context.Context, now time.Time) error {
	if !h.active(now) {
		h.log.Debug("no heartbeat outside its hours")
		return nil
	}
	why, err := h.idle(ctx)
	if err != nil {
		return err
	}
	if why != "" {
		h.log.Debug("no heartbeat", "reason", why)
		return nil
	}
	return h.beat(ctx, domain.KeyHeartbeat.Of(h.agent, now.UnixMilli()))
}

// apart reports whether its turns run in a conversation of its own.
func (h *Heartbeat) apart() bool { return h.config.Session == config.HeartbeatOwn }

// active reports whether a time is within the active hours. They may span midnight. If both ends are equal, it always is.
func (h *Heartbeat) active(now time.Time) bool {
	local := now.In(h.zone)
	minute := local.Hour()*60 + local.Minute()
	from, to := int(max(h.config.From, 0)), int(max(h.config.To, 0))
	switch {
	case from == to:
		return true
	case from < to:
		return from <= minute && minute < to
	default:
		return minute >= from || minute < to
	}
}

// idle reports why no beat is needed; "": one is.
func (h *Heartbeat) idle(ctx context.Context) (why string, err error) {
	if _, err := h.store.DirectChat(ctx, h.channel, string(h.user)); err != nil {
		return fmt.Sprintf("%s:%s has not written to the agent yet, so that nobody knows in which chat", h.channel, h.user), nil
	}
	key, err := h.intake.Session(ctx, h.agent, chat.Address{Channel: h.channel, Chat: chat.ID(h.user)}, chat.Chat{ID: chat.ID(h.user), Kind: chat.Direct})
	if err != nil {
		return "", err
	}
	if h.apart() {
		key = session.HeartbeatOf(key)
	}
	switch running, waiting, err := h.store.Lane(ctx, key, domain.TurnLane); {
	case err != nil:
		return "", err
	case !running.IsZero():
		return "a turn runs", nil
	case waiting > 0:
		return "messages wait", nil
	}
	text, err := agent.ReadFile(h.workspace, file)
	switch {
	case errors.Is(err, os.ErrNotExist) && h.config.Prompt != config.HeartbeatPrompt:
		return "", nil // the operator's prompt says what to look after
	case errors.Is(err, os.ErrNotExist):
		return "there is no " + filepath.Join(h.workspace.Dir(), file), nil
	case err != nil || !agent.HeartbeatEmpty(text):
		return "", err
	default:
		return file + " has nothing to do in it", nil
	}
}

// beat queues a turn, once for an id.
func (h *Heartbeat) beat(ctx context.Context, id domain.Key) error {
	to, err := h.store.DirectChat(ctx, h.channel, string(h.user))
	if err != nil {
		return fmt.Errorf("find the chat of %s:%s: %w", h.channel, h.user, err)
	}
	_, err = h.intake.Turn(ctx, id, h.agent, domain.Message{
		Channel: h.channel, Chat: chat.Chat{ID: to.Chat, Kind: chat.Direct},
		Sender: chat.Sender{IsBot: true}, Text: h.config.Prompt, Origin: domain.OriginHeartbeat,
		Overrides: domain.Overrides{Model: h.config.Model}, Apart: h.apart(),
	})
	return err
}
