package core

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/media"
	"github.com/clawhost/clawhost/core/internal/session"
	"github.com/clawhost/clawhost/core/internal/tools"
	pluginv1 "github.com/clawhost/clawhost/proto/clawhost/plugin/v1"
	"github.com/clawhost/clawhost/sdk/chat"
)

// newTools offers the agent the tools of the host and of the plugins.
func (h *Host) newTools() *tools.Server {
	return tools.New(tools.Options{
		Version: h.options.Version, Plugins: h.toolPlugins, Store: h.store,
		Owners: func(channel string) []string { return h.config.For(channel).Access.Owners },
		Group:  h.ownersWrite, Links: session.Links(h.config.Session.IdentityLinks), Zone: h.config.Agent.Timezone,
		Image: h.toolPicture, Observe: h.toolUsed, Timeout: h.config.Claude.ToolTimeout,
	}, h.log.Named("tools"))
}

// toolPicture reads a file that a plugin has stored.
func (h *Host) toolPicture(ctx context.Context, plugin string, ref chat.MediaRef, most int64) (chat.Media, []byte, error) {
	m, file, err := h.media.files.Open(ctx, plugin, ref)
	if err != nil {
		return m, nil, err
	}
	defer file.Close()
	if m.Size > most {
		return m, nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(file, most))
	return m, data, err
}

// toolUsed notes a use of a tool, and keeps what its plugin tells the host of it.
func (h *Host) toolUsed(ctx context.Context, use tools.Use) {
	h.log.Debug("a tool was used", "session", use.Session, "plugin", use.Plugin, "tool", use.Tool, "took", use.Took, "failed", use.Failed)
	if len(use.Details) == 0 {
		return
	}
	err := h.store.NoteToolUse(ctx, use.Session, domain.ToolUse{
		Turn: use.TurnID, Plugin: use.Plugin, Tool: use.Tool, At: time.Now(), Took: use.Took, Failed: use.Failed, Details: use.Details,
	})
	if err != nil {
		h.log.Warn("the details of a tool's use are lost", "session", use.Session, "plugin", use.Plugin, "tool", use.Tool, "error", err)
	}
}

// toolPlugins are the enabled plugins, and how to reach those that run and have tools.
func (h *Host) toolPlugins() []tools.Plugin {
	var list []tools.Plugin
	for _, name := range h.pluginNames() {
		p := tools.Plugin{Name: name}
		live, running := h.supervisor.Get(name)
		if running && !live.Has(pluginv1.Capability_CAPABILITY_TOOLS) {
			continue
		}
		if running {
			p.Live = live.Plugin
		}
		list = append(list, p)
	}
	return list
}

// ownersWrite tells whether owners may write in a group.
func (h *Host) ownersWrite(channel string, id chat.ID) bool {
	access := h.config.For(channel).Access
	_, listed := h.conversations.Group(channel, id)
	return access.Groups == "open" || access.Groups == "allowlist" && listed
}

// toolsOf is the server of tools for a run. Whoever only has an owner's authority lent has none of their reach.
func (h *Host) toolsOf(run *conversation.Turn, post func(context.Context, tools.Post) error) *tools.Turn {
	return h.tools.Turn(run.Message.UUID, run.Caller, post)
}

// post sends what the agent sends by a tool.
func (v *view) post(ctx context.Context, p tools.Post) error {
	h := v.host
	if !slices.Contains(h.pluginNames(), p.To.Channel) {
		return tools.Refusal("There is no channel " + p.To.Channel + ".")
	}
	key, err := h.inbox.Session(ctx, p.To.Channel, chat.Chat{ID: p.To.Chat, Kind: p.Kind}, p.To.Thread)
	if err != nil {
		return err
	}
	known, err := h.store.Session(ctx, key)
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return err
	}
	if h.config.Send.Policy(known.Overrides.Send, key, p.To, p.Kind) == "deny" {
		return tools.Refusal("Nothing is sent to this chat: whoever runs the host, or an owner, has switched that off.")
	}
	own := p.To == p.Caller.Address
	telling, said := domain.ToolPost{Key: p.Key, From: elsewhere(p)}, domain.SentByTool{Text: p.Text}
	if len(p.Media) > 0 {
		wanted := media.Wanted{
			Channel: p.To.Channel, Paths: p.Media, Named: true,
			Private: p.Caller.Authority == chat.Owner && p.Kind == chat.Direct, Limits: h.conversations.Limits(p.To.Channel, p.Kind).MediaOut,
		}
		if own {
			wanted.Session = v.run.Message.ClaudeSession
		}
		found, err := h.media.outgoing.Collect(ctx, wanted)
		if err != nil {
			h.log.Warn("a tool cannot send files for now", "error", err)
			return tools.Refusal("This machine has no room for files at the moment. Try again later.")
		}
		if len(found.Problems) > 0 {
			return tools.Refusal(strings.Join(found.Problems, " "))
		}
		telling.Items = []domain.OutboxItem{{To: p.To, Media: found.Media}}
		telling.Files, said.Files = found.Files, found.Sent
	}
	text := h.conversations.Notice(p.To, p.Kind, p.Text)
	if !own {
		telling.Items = append(text, telling.Items...)
		return h.store.PostByTool(ctx, v.run.ID, telling)
	}
	return v.hold(func(has func(string) bool) error {
		if !has(p.Text) {
			telling.Items = append(text, telling.Items...)
		}
		if len(telling.Items) == 0 {
			return nil
		}
		if p.Reply != "" {
			telling.Items[0].ReplyTo = v.options.Quoting.Target(p.Reply, false)
		}
		telling.Sent = &said
		err := h.store.PostByTool(ctx, v.run.ID, telling)
		if err == nil {
			v.told.add(said, telling.Files)
			h.shows.leave(p.To)
		}
		return err
	})
}

// hold does something while nothing is streamed. It may ask what was.
func (v *view) hold(f func(has func(text string) bool) error) error {
	if v.stream == nil {
		return f(func(string) bool { return false })
	}
	return v.stream.Hold(f)
}

// elsewhere is what the session of another chat is told of what the agent sends there.
func elsewhere(p tools.Post) domain.Elsewhere {
	if p.To == p.Caller.Address {
		return domain.Elsewhere{}
	}
	said := p.Text
	for _, path := range p.Media {
		said = strings.TrimSpace(said + "\n<file:" + filepath.Base(path) + ">")
	}
	return domain.Elsewhere{
		Session: p.Caller.Session, Said: chat.TranscriptEntry{Role: chat.Assistant, Text: said},
		Note: "From another conversation you have sent to this chat: " + said,
	}
}
