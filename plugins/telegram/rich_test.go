package main

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

func newRich(t *testing.T, s *telegramtest.Server) *channel {
	t.Helper()
	c, err := open(t.Context(), sdk.Env{Log: slog.New(slog.DiscardHandler)}, config{Token: sdk.NewSecret(s.Token()), APIEndpoint: s.URL(), RichMessages: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.api.close)
	return c
}

func TestRichMessages(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	asked := s.User(7).Send(0, "a table?")
	c, to := newRich(t, s), chat.Address{Chat: "7"}
	out := chat.Outgoing{To: to, Text: growing(), ReplyTo: messageID(asked.ID), Silent: true, Buttons: [][]chat.Button{{{Label: "More", Data: "m"}}}}
	receipt, err := c.Send(t.Context(), out)
	if err != nil || len(receipt.IDs) != 1 {
		t.Fatalf("%+v, %v", receipt, err)
	}
	got := s.Replies(7)[0]
	if !got.Rich || got.Text != out.Text || got.ReplyTo != asked.ID || !got.Silent || len(got.Buttons) != 1 {
		t.Errorf("arrived: %+v", got)
	}
	for range 2 {
		if err := c.Edit(t.Context(), to, receipt.IDs[0], "# better", nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Replies(7)[0]; !got.Rich || got.Text != "# better" || got.Edits != 1 || len(got.Buttons) != 0 {
		t.Errorf("edited: %+v", got)
	}
	if err := c.Draft(t.Context(), to, 5, "# so far"); err != nil {
		t.Fatal(err)
	}
	if d, _ := s.Draft(7); !d.Rich || d.Text != "# so far" || !d.CanStop {
		t.Errorf("draft: %+v", d)
	}
	wantFailure(t, "an edit of what is gone", c.Edit(t.Context(), to, "9999", "x", nil), chat.TargetGone)
	s.User(7).Block()
	_, err = c.Send(t.Context(), out)
	wantFailure(t, "when blocked", err, chat.Forbidden)
}

// TestRichMessagesFallBack: what Telegram does not take as a rich message goes as a usual one, and a server that is too old
// is not asked again.
func TestRichMessagesFallBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault telegramtest.Fault
		tries int // as rich ones, of two messages, an edit and a draft
	}{
		"refused": {telegramtest.Refuse(400, "Bad Request: can't parse rich message"), 4},
		"unknown": {telegramtest.Refuse(404, "Not Found"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := telegramtest.New(t)
			s.User(7)
			c, to := newRich(t, s), chat.Address{Chat: "7"}
			for _, method := range []string{"sendRichMessage", "sendRichMessageDraft"} {
				s.Fail(method, 10, test.fault)
			}
			for range 2 {
				if _, err := c.Send(t.Context(), chat.Outgoing{To: to, Text: "**hello**"}); err != nil {
					t.Fatal(err)
				}
			}
			if name == "refused" {
				s.Fail("editMessageText", 1, test.fault)
			}
			if err := c.Edit(t.Context(), to, messageID(s.Replies(7)[0].ID), "*edited*", nil); err != nil {
				t.Fatal(err)
			}
			if err := c.Draft(t.Context(), to, 5, "**so far**"); err != nil {
				t.Fatal(err)
			}
			replies := s.Replies(7)
			d, _ := s.Draft(7)
			if len(replies) != 2 || replies[0].Text != "edited" || replies[1].Text != "hello" || replies[1].Rich || d.Text != "so far" || d.Rich {
				t.Errorf("arrived %+v, draft %+v", replies, d)
			}
			tries := 0
			for _, call := range s.Calls("") {
				if strings.Contains(call.Params["rich_message"], "markdown") {
					tries++
				}
			}
			if tries != test.tries {
				t.Errorf("%d tries as rich messages, want %d", tries, test.tries)
			}
		})
	}
}
