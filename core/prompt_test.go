package core

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/media"
	"github.com/clawhost/clawhost/core/internal/supervisor"
	"github.com/clawhost/clawhost/sdk/chat"
)

// A message that has waited for long is told with its age, each of a burst by itself.
// Behaviour: accept-old.
func TestWhatWaitedForLongIsToldSo(t *testing.T) {
	t.Parallel()
	h := &Host{config: &config.Config{
		Agent:    config.Agent{Timezone: time.UTC},
		Settings: config.Settings{Inbound: config.Inbound{MaxAge: time.Hour}},
	}, supervisor: supervisor.New(supervisor.Options{}, hclog.NewNullLogger())}
	h.resolve()
	h.media.reader = media.NewReader(media.ReaderOptions{}, hclog.NewNullLogger())
	h.media.bringer = media.NewBringer(media.NewFiles(media.FilesOptions{}), nil, nil, hclog.NewNullLogger())
	queued := func(text string, age time.Duration) domain.Queued {
		return domain.Queued{Burst: 1, Message: domain.Message{
			Channel: "telegram", Chat: chat.Chat{ID: "1", Kind: chat.Direct}, Sender: chat.Sender{ID: "1", DisplayName: "Anna"},
			SentAt: time.Now().Add(-age), Text: text,
		}}
	}
	run := h.conversations.Turn(&domain.Run{Session: domain.Session{Key: "telegram:1"}, Message: queued("old news", 3*time.Hour), More: []domain.Queued{queued("and this", time.Minute)}})
	prompt, err := h.prompt(t.Context(), run, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(prompt, "[Telegram Anna ") || !strings.Contains(prompt, "] old news\n") ||
		strings.Count(prompt, "[Late: written 3h before you read it]") != 1 || strings.Count(prompt, "[Late:") != 1 {
		t.Errorf("prompt %q", prompt)
	}
}

// What a compaction should keep is one line, so that the CLI takes all of it for the command that it is.
func TestCompactionIsOneLine(t *testing.T) {
	t.Parallel()
	h := &Host{config: &config.Config{Agent: config.Agent{Timezone: time.UTC}}, supervisor: supervisor.New(supervisor.Options{}, hclog.NewNullLogger())}
	h.resolve()
	for text, want := range map[string]string{"": "/compact", " the plan\n\n/clear  and @/etc/passwd": "/compact the plan /clear and @/etc/passwd"} {
		run := h.conversations.Turn(&domain.Run{Message: domain.Queued{Message: domain.Message{Origin: domain.OriginCompact, Text: text}}})
		if got, err := h.prompt(t.Context(), run, []string{"a hook's word"}); got != want || err != nil {
			t.Errorf("%q, want %q, error %v", got, want, err)
		}
	}
}
