package view

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/activity"
	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/operate/gateway"
	"github.com/clawhost/clawhost/sdk/chat"
)

// drawn is a chat that keeps the drafts that it was shown.
type drawn struct {
	stream.Surface
	texts []string
}

func (d *drawn) Draft(_ context.Context, text string) error {
	d.texts = append(d.texts, text)
	return nil
}

// A draft is drawn again behind what is sent to its chat by anybody, for as long as the turn goes on.
// Behaviour: draft-refresh.
func TestRedraw(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		chats := activity.NewChats(nil, nil)
		here, elsewhere := chat.Address{Channel: "c", Chat: "1"}, chat.Address{Channel: "c", Chat: "1", Thread: "2"}
		surface := &drawn{}
		run := &domain.Run{Head: domain.Queued{Message: domain.Message{Channel: "c", Chat: chat.Chat{ID: "1"}}}}
		v := &View{
			views: New(Options{Chats: chats, Programs: &gateway.Gateway{}}, hclog.NewNullLogger()), run: &conversation.Run{Run: run, Conversation: &conversation.Conversation{Agent: &config.Agent{}}},
			stream: stream.New(stream.Options{Mode: stream.Draft, To: here}, surface, run),
		}
		v.show(t.Context())
		v.Progress(agent.Progress{Text: "so far"})
		for _, sent := range []chat.Address{elsewhere, here, here} {
			time.Sleep(time.Second)
			chats.Delivered(sent)
		}
		time.Sleep(time.Second)
		v.End()
		chats.Delivered(here)
		synctest.Wait()
		if diff := cmp.Diff([]string{"so far", "so far", "so far"}, surface.texts); diff != "" {
			t.Error(diff)
		}
	})
}
