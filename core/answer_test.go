package core

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/reply"
	"github.com/clawhost/clawhost/core/internal/stream"
	"github.com/clawhost/clawhost/core/internal/supervisor"
	"github.com/clawhost/clawhost/sdk/chat"
)

// unmoved are chats that have kept their ids.
type unmoved struct{}

func (unmoved) Origin(_ string, id chat.ID) chat.ID { return id }

// resolve has the host of a test resolve conversations.
func (h *Host) resolve() {
	h.conversations = conversation.NewResolver(h.config, h.supervisor, unmoved{})
}

// An answer without words is told to who waits for one, and to nobody else.
// Behaviour: answer-empty, memory-flush-when.
func TestAnEmptyAnswer(t *testing.T) {
	t.Parallel()
	h := &Host{config: &config.Config{}, log: hclog.NewNullLogger(), supervisor: supervisor.New(supervisor.Options{}, hclog.NewNullLogger())}
	h.resolve()
	h.tools = h.newTools()
	for name, test := range map[string]struct {
		kind   chat.Kind
		origin domain.Origin
		said   []string
	}{
		"a person":       {chat.Direct, "", []string{reply.Empty}},
		"a plugin":       {chat.Direct, domain.OriginPlugin, []string{reply.Empty}},
		"a group":        {chat.Group, "", nil},
		"a memory flush": {chat.Direct, domain.OriginFlush, nil},
		"a heartbeat":    {chat.Direct, domain.OriginHeartbeat, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := h.conversations.Turn(&domain.Run{Message: domain.Queued{Message: domain.Message{Chat: chat.Chat{ID: "c", Kind: test.kind}, Origin: test.origin}}})
			v := &view{host: h, run: run, options: h.streaming(run)}
			var said []string
			got, err := v.Reply(t.Context(), agent.Result{})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range got.Pieces {
				said = append(said, p.Text)
			}
			if diff := cmp.Diff(test.said, said); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
		})
	}
}

// What was begun to be said before it is said to its end, also where nobody waits for an answer.
func TestAnEmptyAnswerBehindSomethingBegun(t *testing.T) {
	t.Parallel()
	h := &Host{config: &config.Config{}, log: hclog.NewNullLogger(), supervisor: supervisor.New(supervisor.Options{}, hclog.NewNullLogger())}
	h.resolve()
	h.tools = h.newTools()
	run := h.conversations.Turn(&domain.Run{Message: domain.Queued{Message: domain.Message{Chat: chat.Chat{ID: "c", Kind: chat.Group}}}})
	v := &view{host: h, run: run, options: h.streaming(run)}
	v.outcome = stream.Outcome{Begun: true, Before: []string{"the rest of a sentence."}}
	got, err := v.Reply(t.Context(), agent.Result{})
	if err != nil || len(got.Pieces) != 1 || got.Pieces[0].Text != "the rest of a sentence." {
		t.Errorf("said %+v, %v", got, err)
	}
}
