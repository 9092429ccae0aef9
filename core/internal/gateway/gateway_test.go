package gateway_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/gateway"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// box keeps what is posted. Its channel takes texts of any size, and small files once it is connected. Its other methods are
// not called.
type box struct {
	gateway.Store
	limits chat.Limits
	keys   []string
	items  []domain.OutboxItem
	from   domain.Elsewhere
}

func (b *box) PostFrom(_ context.Context, key domain.Key, from domain.Elsewhere, items ...domain.OutboxItem) (int64, error) {
	b.keys, b.from, b.items = append(b.keys, key.String()), from, items
	return 7, nil
}

func (b *box) Notice(to chat.Address, _ chat.Kind, text string) []domain.OutboxItem {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []domain.OutboxItem{{To: to, Text: text}}
}

func (b *box) Limits(string, chat.Kind) chat.Limits { return b.limits }

func (b *box) Keep(_ context.Context, _ string, limits []chat.MediaLimit, file chat.Media, content io.Reader) (chat.Media, bool, error) {
	text, err := io.ReadAll(content)
	file.Size = int64(len(text))
	return file, len(limits) > 0 && file.Size <= limits[0].MaxBytes, err
}

// channels are the channels that there are.
type channels []string

func (c channels) ChannelNames() []string { return c }

func open(b *box) *gateway.Gateway {
	return gateway.New(gateway.Options{Store: b, Chats: b, Files: b, Channels: channels{"tg"}}, hclog.NewNullLogger())
}

// Behaviour: program-send.
func TestSend(t *testing.T) {
	t.Parallel()
	b := &box{limits: chat.Limits{Text: chat.TextLimit{Max: 10}, MediaOut: []chat.MediaLimit{{Kind: chat.File, MaxBytes: 4}}}}
	g := open(b)
	to, err := gateway.ParseAddress("tg:a:b", "7")
	if err != nil || to != (chat.Address{Channel: "tg", Chat: "a:b", Thread: "7"}) {
		t.Fatalf("the address is %+v, %v", to, err)
	}
	file, err := g.Keep(t.Context(), to, "tea.txt", strings.NewReader("tea"))
	if err != nil {
		t.Fatal(err)
	}
	id, err := g.Send(t.Context(), "", gateway.Message{To: to, Text: "hello", Files: []chat.Media{file}})
	want := []domain.OutboxItem{{To: to, Text: "hello"}, {To: to, Media: []chat.Media{file}}}
	if diff := cmp.Diff(want, b.items); err != nil || id != 7 || diff != "" {
		t.Errorf("sent as %d, %v (-want +got):\n%s", id, err, diff)
	}
	if !strings.HasSuffix(b.from.Note, ": hello\n<file:tea.txt>") || !strings.HasSuffix(b.from.Said.Text, ": hello\n<file:tea.txt>") {
		t.Errorf("the conversation is told %+v", b.from)
	}
	for range 2 {
		if _, err := g.Send(t.Context(), "nightly", gateway.Message{To: to, Text: "hello"}); err != nil {
			t.Fatal(err)
		}
	}
	if b.keys[0] != "" || b.keys[1] == "nightly" || b.keys[1] != b.keys[2] || b.keys[1] == "" {
		t.Errorf("the keys are %q", b.keys)
	}
}

func TestWhatCannotBeSentIsRefused(t *testing.T) {
	t.Parallel()
	to := chat.Address{Channel: "tg", Chat: "a"}
	for name, m := range map[string]gateway.Message{
		"nothing":        {To: to, Text: " \n"},
		"a long text":    {To: to, Text: strings.Repeat("x", wire.MaxText+1)},
		"many files":     {To: to, Files: make([]chat.Media, gateway.MaxFiles+1)},
		"nowhere to go":  {To: chat.Address{Channel: "mail", Chat: "a"}, Text: "hello"},
		"nobody's chat":  {Text: "hello"},
		"a file nowhere": {To: chat.Address{Channel: "mail", Chat: "a"}, Files: []chat.Media{{}}},
	} {
		b := &box{}
		if _, err := open(b).Send(t.Context(), "", m); !errors.As(err, new(gateway.Refusal)) || len(b.items) > 0 {
			t.Errorf("%s: %v, sent %v", name, err, b.items)
		}
	}
	for _, s := range []string{"", "tg", "tg:", ":a"} {
		if to, err := gateway.ParseAddress(s, ""); !errors.As(err, new(gateway.Refusal)) {
			t.Errorf("%q is the address %+v, %v", s, to, err)
		}
	}
	small := []chat.MediaLimit{{Kind: chat.File, MaxBytes: 2}}
	for name, test := range map[string]struct {
		limits chat.Limits
		to     chat.Address
	}{
		"it is not connected": {chat.Limits{}, to},
		"it is too large":     {chat.Limits{Text: chat.TextLimit{Max: 10}, MediaOut: small}, to},
		"no such channel":     {chat.Limits{Text: chat.TextLimit{Max: 10}, MediaOut: small}, chat.Address{Channel: "mail", Chat: "a"}},
	} {
		b := &box{limits: test.limits}
		if _, err := open(b).Keep(t.Context(), test.to, "tea.txt", strings.NewReader("tea")); !errors.As(err, new(gateway.Refusal)) {
			t.Errorf("a file, %s: %v", name, err)
		}
	}
}
