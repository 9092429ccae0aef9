package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// stream measures answers that are shown while they are written, in chats of a Telegram stand-in on this machine: the
// delay of the first piece, and the cost of the pieces in the host.
func (b *bench) stream(ctx context.Context) error {
	const answers = 60
	for _, shown := range []struct {
		name string
		chat func(*telegramtest.Server, int) streamed
	}{
		{"by the network's draft", draft},
		{"by a message that is edited", preview},
	} {
		var took sample
		err := b.telegram(ctx, `stream = "preview"`, map[string]string{"token_delay_ms": "5"}, true, func(h *host, server *telegramtest.Server) (err error) {
			took, err = firsts(ctx, h, server, answers, shown.chat)
			return err
		})
		if err != nil {
			return err
		}
		p50 := took.median()
		judged("first token → chat, "+shown.name, fmt.Sprintf("p50 %s, p99 %s", millis(p50), millis(took.quantile(0.99))),
			"p50 < 10 ms", p50 < 10*time.Millisecond)
	}
	for _, mode := range []struct {
		name, reply string
		chat        func(*telegramtest.Server, int) streamed
	}{
		{"not shown", `stream = "off"`, draft},
		{"by the network's draft", `stream = "preview"`, draft},
		{"by a message that is edited", `stream = "preview"`, preview},
		{"in blocks", `stream = "block"`, draft},
	} {
		cost, err := b.streaming(ctx, mode.reply, mode.chat)
		if err != nil {
			return err
		}
		line("processor time of the host, 10,000 tokens, "+mode.name, fmt.Sprintf("%.0f ms", float64(cost.Microseconds())/1000))
	}
	return nil
}

// telegram runs a host with its own Telegram stand-in for f.
func (b *bench) telegram(
	ctx context.Context, reply string, script map[string]string, traced bool, f func(*host, *telegramtest.Server) error,
) error {
	server, err := telegramtest.Start(telegramtest.Options{})
	if err != nil {
		return err
	}
	defer server.Close()
	var fields []string
	for name, value := range script {
		fields = append(fields, fmt.Sprintf("%q: %s", name, value))
	}
	return b.with(ctx, setup{
		plugins: []string{"telegram"}, blocks: map[string]string{"telegram": telegramBlock(server)}, reply: reply,
		processes: 2, traced: traced,
		env: map[string]string{"CLAUDE_STUB_SCRIPT": "{" + strings.Join(fields, ", ") + "}"},
	}, func(h *host) error { return f(h, server) })
}

func telegramBlock(server *telegramtest.Server) string {
	return fmt.Sprintf("token = %q\n    api_endpoint = %q", server.Token(), server.URL())
}

// streamed is a chat that shows an answer.
type streamed struct {
	server  *telegramtest.Server
	id      int64
	private bool
}

// draft is a private chat, and preview a group, without messages yet.
func draft(server *telegramtest.Server, n int) streamed {
	return streamed{server, server.User(int64(1000 + n)).ID, true}
}

func preview(server *telegramtest.Server, n int) streamed {
	id := int64(-1000 - n)
	server.Group(id, "Bench")
	return streamed{server, id, false}
}

func (s streamed) say(text string) { s.server.User(max(s.id, 1)).Send(s.id, text) }

// begun waits until a part of the answer is visible, and returns when.
func (s streamed) begun(ctx context.Context) (time.Time, error) {
	if s.private {
		_, err := s.server.AwaitDraft(ctx, s.id, func(d telegramtest.Draft) bool { return d.Text != "" })
		return time.Now(), err
	}
	m, err := s.server.AwaitMessage(ctx, s.id, func(telegramtest.Message) bool { return true })
	return m.At, err
}

// done waits until an answer with the given end is shown, and the stop button is gone.
func (s streamed) done(ctx context.Context, end string) error {
	bot := s.server.Bot().ID
	_, err := s.server.AwaitMessages(ctx, s.id, func(all []telegramtest.Message) bool {
		return slices.ContainsFunc(all, func(m telegramtest.Message) bool {
			return m.From == bot && len(m.Buttons) == 0 && strings.Contains(m.Text, end)
		})
	})
	return err
}

// firsts are the delays of the first piece of an answer, from claude's stdout to the chat.
func firsts(
	ctx context.Context, h *host, server *telegramtest.Server, answers int, chat func(*telegramtest.Server, int) streamed,
) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	seen := map[int]time.Time{}
	for n := 1; n <= answers; n++ {
		c := chat(server, n)
		c.say(text(n))
		at, err := c.begun(ctx)
		if err != nil {
			return nil, err
		}
		seen[n] = at
		if err := c.done(ctx, strings.TrimSpace(filler)); err != nil {
			return nil, err
		}
	}
	trace, err := readTrace(h.rig.path("trace"))
	if err != nil {
		return nil, err
	}
	var took sample
	for n, at := range seen {
		if trace.token[n].IsZero() || at.Before(trace.token[n]) {
			return nil, fmt.Errorf("the trace lacks the first piece of answer %d, or its clock is not this one", n)
		}
		took = append(took, at.Sub(trace.token[n]))
	}
	return took, nil
}

// streaming is the host's cost of 10,000 tokens, from ten answers of a thousand, a millisecond apart.
func (b *bench) streaming(ctx context.Context, reply string, chat func(*telegramtest.Server, int) streamed) (time.Duration, error) {
	const answers, end = 10, "This is the end."
	words := strings.Repeat("They went on and on along the road.\n\n", 142) + end
	tokens := strings.Count(words, " ") + 1 // the stub streams a word at a time
	written, err := json.Marshal(words)
	if err != nil {
		return 0, err
	}
	var cost time.Duration
	err = b.telegram(ctx, reply, map[string]string{"token_delay_ms": "1", "answer": string(written)}, false, func(h *host, server *telegramtest.Server) error {
		answer := func(n int) error {
			c := chat(server, n)
			c.say("Go on.")
			wait, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			return c.done(wait, end)
		}
		if err := answer(0); err != nil { // the host has used all code afterwards
			return err
		}
		before, err := cpu(h.cmd.Process.Pid)
		if err != nil {
			return err
		}
		for n := range answers {
			if err := answer(n + 1); err != nil {
				return err
			}
		}
		after, err := cpu(h.cmd.Process.Pid)
		cost = after - before
		return err
	})
	if err != nil {
		return 0, err
	}
	return cost * 10_000 / time.Duration(answers*tokens), nil
}
