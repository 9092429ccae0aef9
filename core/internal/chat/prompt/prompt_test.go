package prompt_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/folder"
	"github.com/clawhost/clawhost/core/internal/chat/prompt"
	"github.com/clawhost/clawhost/core/internal/media/extract"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/core/internal/media/speech"
	"github.com/clawhost/clawhost/core/internal/media/web"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/sdk/chat"
)

// unmoved are chats that have kept their ids.
type unmoved struct{}

func (unmoved) Origin(_ string, id chat.ID) chat.ID { return id }

// builder returns a builder without any programs that read files, and what resolves its conversations.
func builder(c *config.Config) (*prompt.Builder, *conversation.Resolver) {
	log := hclog.NewNullLogger()
	return prompt.New(prompt.Options{
		System: config.Derive(c, func(c *config.Config) map[string]*agent.Prompter {
			return map[string]*agent.Prompter{"": agent.NewPrompter(agent.Identity{Name: c.Agent.Name, Workspace: c.Agent.Workspace, Timezone: c.Agent.Timezone})}
		}),
		Bringer: files.NewBringer(files.NewStore(files.Options{}), nil, log),
		Reader:  extract.NewReader(nil, &speech.Transcriber{}, web.NewPages(web.Options{}, log), log),
	}, log), conversation.NewResolver(c, plugins.New(nil), unmoved{})
}

// A message that has waited for long is shown with its age, each of a burst by itself.
// Behaviour: accept-old.
func TestOldMessagesShowTheirAge(t *testing.T) {
	t.Parallel()
	b, conversations := builder(&config.Config{
		Agent:    config.Agent{Timezone: time.UTC},
		Settings: config.Settings{Inbound: config.Inbound{MaxAge: time.Hour}},
	})
	queued := func(text string, age time.Duration) domain.Queued {
		return domain.Queued{Burst: 1, Message: domain.Message{
			Channel: "telegram", Chat: chat.Chat{ID: "1", Kind: chat.Direct}, Sender: chat.Sender{ID: "1", DisplayName: "Anna"},
			SentAt: time.Now().Add(-age), Text: text,
		}}
	}
	run := conversations.Run(&domain.Run{Session: domain.Session{Key: "telegram:1"}, Head: queued("old news", 3*time.Hour), More: []domain.Queued{queued("and this", time.Minute)}})
	built, err := b.Build(t.Context(), run, nil)
	text := built.Text
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(text, "[Telegram Anna ") || !strings.Contains(text, "] old news\n") ||
		strings.Count(text, "[Late: written 3h before you read it]") != 1 || strings.Count(text, "[Late:") != 1 {
		t.Errorf("prompt %q", text)
	}
}

// What a compaction should keep is one line, so that the CLI takes all of it for the command that it is.
func TestCompactionIsOneLine(t *testing.T) {
	t.Parallel()
	b, conversations := builder(&config.Config{Agent: config.Agent{Timezone: time.UTC}})
	for text, want := range map[string]string{"": "/compact", " the plan\n\n/clear  and @/etc/passwd": "/compact the plan /clear and @/etc/passwd"} {
		run := conversations.Run(&domain.Run{Head: domain.Queued{Message: domain.Message{Origin: domain.OriginCompact, Text: text}}})
		if got, err := b.Build(t.Context(), run, []string{"a hook's word"}); got.Text != want || err != nil {
			t.Errorf("%q, want %q, error %v", got.Text, want, err)
		}
	}
}

// Claude is shown the pictures of a message that is steered, as it is those of a message with a turn of its own.
// Behaviour: file-inline.
func TestPicturesAreShown(t *testing.T) {
	t.Parallel()
	_, conversations := builder(&config.Config{Agent: config.Agent{Timezone: time.UTC}})
	stored, log := mediatest.Setup(t), hclog.NewNullLogger()
	inbound := files.NewInbound(stored.Store, stored.Workspace, files.SpaceOptions{})
	b := prompt.New(prompt.Options{
		Bringer: files.NewBringer(stored.Store, nil, log), Inbound: map[string]*files.Inbound{"": inbound}, Pictures: stored.Store,
		Reader: extract.NewReader(nil, &speech.Transcriber{}, web.NewPages(web.Options{}, log), log),
	}, log)
	picture := stored.Stored(t, chat.Media{Kind: chat.Image}, mediatest.Picture(t, "png"))
	queued := domain.Queued{Message: domain.Message{
		Channel: "telegram", Chat: chat.Chat{ID: "1", Kind: chat.Direct}, Sender: chat.Sender{ID: "1"}, Text: "this one",
		Media: []chat.Media{picture},
	}}
	run := conversations.Run(&domain.Run{Session: domain.Session{Key: "telegram:1", ClaudeStarted: true}, Head: queued})
	own, err := b.Build(t.Context(), run, nil)
	if err != nil {
		t.Fatal(err)
	}
	steered, err := b.Steered(t.Context(), run.Conversation, queued)
	if err != nil {
		t.Fatal(err)
	}
	shown := filepath.Join(stored.Workspace, folder.Inbound, string(picture.Ref))
	for name, got := range map[string]prompt.Prompt{"of its own": own, "steered": steered} {
		if len(got.Pictures) != 1 || got.Pictures[0].Type != "image/png" || !strings.Contains(got.Text, shown) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
