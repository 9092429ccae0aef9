package core

import (
	"context"
	"io"
	"time"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/session"
	"github.com/clawhost/clawhost/core/internal/tools"
	"github.com/clawhost/clawhost/sdk/chat"
)

// newTools offers the agent the tools of the host and of the plugins.
func (h *Host) newTools() *tools.Server {
	return tools.New(tools.Options{
		Version: h.options.Version, Plugins: h.plugins.Tools, Store: h.store,
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

// ownersWrite tells whether owners may write in a group.
func (h *Host) ownersWrite(channel string, id chat.ID) bool {
	access := h.config.For(channel).Access
	_, listed := h.conversations.Group(channel, id)
	return access.Groups == "open" || access.Groups == "allowlist" && listed
}
