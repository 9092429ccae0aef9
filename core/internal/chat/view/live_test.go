package view

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/activity"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/operate/gateway"
)

// Behaviour: state-page-live.
func TestLive(t *testing.T) {
	t.Parallel()
	registry := plugins.New(nil)
	conversations := conversation.NewResolver(&config.Config{Agent: config.Agent{Label: "main"}}, registry, &world{})
	views := New(Options{
		Plugins: registry, Chats: activity.NewChats(registry, nil), Conversations: conversations, Programs: &gateway.Gateway{},
	}, hclog.NewNullLogger())
	since := time.Unix(9, 0)
	view := func(id int64) *View {
		return views.For(conversations.Run(&domain.Run{ID: id, Session: domain.Session{Key: "s"}, StartedAt: since}))
	}
	first, second := view(1), view(2)
	if got := views.Live(); len(got) > 0 {
		t.Fatalf("before their begin: %+v", got)
	}
	second.Open(t.Context())
	first.Open(t.Context())
	first.Progress(agent.Progress{Text: "Let me lo"})
	first.Progress(agent.Progress{Done: []agent.Step{{Text: "Let me look."}, {Tool: agent.ToolUse{Name: "Bash", Summary: "cat secret"}}}, Text: "It is [[reply_to_current]] gr", Running: []agent.ToolUse{{Name: "Read", Summary: "secret"}}})
	want := []Live{
		{Run: 1, Session: "s", Agent: "main", Since: since, Text: "Let me look.\n\nIt is gr", Tools: []string{"Read"}},
		{Run: 2, Session: "s", Agent: "main", Since: since},
	}
	if diff := cmp.Diff(want, views.Live()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	// A text may be long; what is written last is shown.
	first.Progress(agent.Progress{Done: []agent.Step{{Text: strings.Repeat("x", 1<<20)}}, Text: strings.Repeat("ä", 3000) + "€ so"})
	if got := views.Live()[0]; len(got.Text) > 4<<10 || len(got.Text) < 4<<10-3 || !got.Cut || !utf8.ValidString(got.Text) || !strings.HasSuffix(got.Text, "ä€ so") {
		t.Errorf("%d bytes, cut %t, ends with %q", len(got.Text), got.Cut, got.Text[len(got.Text)-10:])
	}
	first.End()
	first.Restart(t.Context()) // in a new conversation, from the beginning
	if got := views.Live(); len(got) != 2 || got[0].Text != "" {
		t.Errorf("in a new conversation: %+v", got)
	}
	for _, v := range []*View{first, second} {
		v.End()
		v.Close()
	}
	if got := views.Live(); len(got) > 0 {
		t.Errorf("after their end: %+v", got)
	}
}

func TestLiveIsBounded(t *testing.T) {
	t.Parallel()
	var w world
	v := w.view(domain.Message{}, "")
	for range 150 {
		v.Restart(t.Context())
	}
	if got := len(v.views.Live()); got != 100 {
		t.Errorf("%d turns", got)
	}
}
