package plugins

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// wall is a channel that notes what it is given.
type wall struct {
	pluginv1.UnimplementedChannelServer
	texts []string
}

func (w *wall) SendMessage(_ context.Context, r *pluginv1.SendMessageRequest) (*pluginv1.SendMessageResponse, error) {
	w.texts = append(w.texts, "send "+r.GetText())
	return &pluginv1.SendMessageResponse{Outcome: &pluginv1.SendMessageResponse_Sent{Sent: &pluginv1.Sent{}}}, nil
}

func (w *wall) EditMessage(_ context.Context, r *pluginv1.EditMessageRequest) (*pluginv1.EditMessageResponse, error) {
	w.texts = append(w.texts, "edit "+r.GetText())
	return &pluginv1.EditMessageResponse{}, nil
}

func (w *wall) UpdateDraft(_ context.Context, r *pluginv1.UpdateDraftRequest) (*pluginv1.UpdateDraftResponse, error) {
	w.texts = append(w.texts, "draft "+r.GetText())
	return &pluginv1.UpdateDraftResponse{}, nil
}

// put returns a live channel with these limits in direct chats and groups, and what it is given.
func put(t *testing.T, direct, group chat.Limits) (*Plugin, *wall) {
	t.Helper()
	w := &wall{}
	server, listener := grpc.NewServer(), bufconn.Listen(1<<16)
	pluginv1.RegisterChannelServer(server, w)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///plugin", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		server.Stop()
		<-served
	})
	channel := remote.Description{Capabilities: []remote.Capability{remote.Channel}}
	return &Plugin{Plugin: remote.New(conn), Description: channel, Reported: map[chat.Kind]chat.Limits{chat.Direct: direct, chat.Group: group}}, w
}

// TestAPlainChannelIsGivenPlainText: what shows no Markdown would show its marks.
func TestAPlainChannelIsGivenPlainText(t *testing.T) {
	t.Parallel()
	plain, marked := chat.Limits{Markup: chat.Plain}, chat.Limits{Markup: chat.Markdown}
	short := chat.Limits{Markup: chat.Plain, Text: chat.TextLimit{Max: 6, Unit: chat.Bytes}}
	for name, tt := range map[string]struct {
		direct, group chat.Limits
		text, want    string
	}{
		"plain":                  {plain, plain, "**yes**, [so](https://a.example)", "yes, so (https://a.example)"},
		"Markdown":               {marked, marked, "**yes**", "**yes**"},
		"Markdown in groups":     {plain, marked, "**yes**", "**yes**"},
		"fits only as it is":     {short, plain, "***", "***"},
		"fits only as plain":     {short, plain, "**abcdef**", "abcdef"},
		"nothing to be rendered": {plain, plain, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, w := put(t, tt.direct, tt.group)
			_, sent := l.Send(t.Context(), chat.Outgoing{Key: "k", To: chat.Address{Chat: "c"}, Text: tt.text})
			edited := l.Edit(t.Context(), chat.Address{Chat: "c"}, "1", tt.text, nil)
			drafted := l.Draft(t.Context(), chat.Address{Chat: "c"}, 1, tt.text)
			want := []string{"send " + tt.want, "edit " + tt.want, "draft " + tt.want}
			if err := errors.Join(sent, edited, drafted); err != nil || !slices.Equal(w.texts, want) {
				t.Errorf("the channel is given %q, want %q: %v", w.texts, want, err)
			}
		})
	}
}

// TestButtonsBeyondTheLimits reach no channel.
func TestButtonsBeyondTheLimits(t *testing.T) {
	t.Parallel()
	few, more := chat.Limits{Buttons: chat.ButtonLimits{Rows: 1, Columns: 1, DataBytes: 4}}, chat.Limits{Buttons: chat.ButtonLimits{Rows: 1, Columns: 2, DataBytes: 4}}
	l, w := put(t, few, more)
	rows := func(data ...string) [][]chat.Button {
		var row []chat.Button
		for _, d := range data {
			row = append(row, chat.Button{Label: "l", Data: d})
		}
		return [][]chat.Button{row}
	}
	to := chat.Address{Chat: "c"}
	for _, buttons := range [][][]chat.Button{rows("a", "b", "c"), rows("abcde"), rows("")} {
		_, sent := l.Send(t.Context(), chat.Outgoing{Key: "k", To: to, Text: "x", Buttons: buttons})
		for _, err := range []error{sent, l.Edit(t.Context(), to, "1", "x", buttons)} {
			f, ok := errors.AsType[*chat.Failure](err)
			if !ok || f.Reason != chat.Invalid || f.MaybeDelivered || !strings.Contains(err.Error(), "button") {
				t.Errorf("%v: %v", buttons, err)
			}
		}
	}
	if _, err := l.Send(t.Context(), chat.Outgoing{Key: "k", To: to, Text: "x", Buttons: rows("a", "b")}); err != nil || len(w.texts) != 1 {
		t.Errorf("what a group takes is refused: %v; the channel is given %q", err, w.texts)
	}
}

func TestIdempotent(t *testing.T) {
	t.Parallel()
	once := chat.Limits{IdempotentSend: true}
	if l, _ := put(t, once, chat.Limits{}); l.Idempotent() {
		t.Error("a channel that may show a message twice in groups is idempotent")
	}
	if l, _ := put(t, once, once); !l.Idempotent() {
		t.Error("a channel that shows each key once is not idempotent")
	}
}
