package sdk_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// historian is a service with both observers.
type historian struct {
	secret   string
	received []sdk.MessageReceived
	appended []sdk.TranscriptAppended
}

func (h *historian) MessageReceived(_ context.Context, received sdk.MessageReceived) error {
	h.received = append(h.received, received)
	if received.Message.Text == "fail" {
		return errors.New("no space for " + h.secret)
	}
	return nil
}

func (h *historian) TranscriptAppended(_ context.Context, appended sdk.TranscriptAppended) error {
	h.appended = append(h.appended, appended)
	if appended.Entries[0].Text == "fail" {
		return errors.New("no space for " + h.secret)
	}
	return nil
}

func TestObserversAreNotified(t *testing.T) {
	t.Parallel()
	type config struct {
		Key sdk.Secret `json:"key"`
	}
	observer := &historian{}
	h := sdktest.New(t, sdk.Service(func(_ context.Context, _ sdk.Env, c config) (*historian, error) {
		observer.secret = c.Key.Reveal()
		return observer, nil
	}))
	want := []string{"CAPABILITY_HOOK_MESSAGE_RECEIVED", "CAPABILITY_HOOK_TRANSCRIPT_APPENDED"}
	if got := h.Describe().Capabilities; !cmp.Equal(got, want) {
		t.Errorf("capabilities are %v", got)
	}
	received := sdk.MessageReceived{
		Caller: chat.Caller{
			Session: "telegram:7", Address: chat.Address{Channel: "telegram", Chat: "7", Thread: "3"}, Kind: chat.Group,
			Sender: chat.Sender{ID: "7", DisplayName: "Anna"}, Authority: chat.Authorised,
		},
		Message: chat.Message{
			ID: "1", Text: "hello", MentionsSelf: true, ReplyTo: &chat.Quote{ID: "0", Text: "hi", IsSelf: true},
			Media: []chat.Media{{Ref: "r", Kind: chat.Image, MIMEType: "image/png", Size: 5}},
		},
	}
	appended := sdk.TranscriptAppended{Session: "telegram:7", Entries: []chat.TranscriptEntry{
		{ID: 4, Role: chat.User, Text: "hello", At: time.Unix(1_700_000_000, 0).UTC()},
		{ID: 6, Role: chat.Assistant, Text: "hi", At: time.Unix(1_700_000_001, 0).UTC()},
	}}
	if err := h.MessageReceived(received); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("before Configure a message gives %v", err)
	}
	if err := h.TranscriptAppended(appended); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("before Configure entries give %v", err)
	}
	h.Configure(config{Key: sdk.NewSecret("very secret")})
	if err := errors.Join(h.MessageReceived(received), h.TranscriptAppended(appended)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]sdk.MessageReceived{received}, observer.received); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]sdk.TranscriptAppended{appended}, observer.appended); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	for name, err := range map[string]error{
		"message": h.MessageReceived(sdk.MessageReceived{Message: chat.Message{Text: "fail"}}),
		"entries": h.TranscriptAppended(sdk.TranscriptAppended{Entries: []chat.TranscriptEntry{{ID: 9, Role: chat.System, Text: "fail"}}}),
	} {
		if err == nil || !strings.Contains(err.Error(), "no space for [secret]") {
			t.Errorf("%s that fails gives %v", name, err)
		}
	}
	if last := observer.received[1].Caller; last.Authority != chat.Owner || last.Kind != chat.Direct {
		t.Errorf("the harness's own caller is %+v", last)
	}
	if _, err := h.BeforeAgentStart(sdk.AgentStart{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("a hook that the plugin does not have gives %v", err)
	}
}

func TestObserversWithoutConfig(t *testing.T) {
	t.Parallel()
	received := make(chan string, 2)
	h := sdktest.New(t,
		sdk.OnMessage(func(_ context.Context, r sdk.MessageReceived) error { received <- r.Message.Text; panic("oh") }),
		sdk.OnTranscript(func(_ context.Context, a sdk.TranscriptAppended) error { received <- a.Entries[0].Text; panic("oh") }),
	)
	h.Configure(nil)
	if err := h.MessageReceived(sdk.MessageReceived{Message: chat.Message{Text: "hello"}}); !sdktest.Panicked(err) || <-received != "hello" {
		t.Errorf("a message gives %v", err)
	}
	entry := chat.TranscriptEntry{ID: 1, Role: chat.User, Text: "said"}
	if err := h.TranscriptAppended(sdk.TranscriptAppended{Entries: []chat.TranscriptEntry{entry}}); !sdktest.Panicked(err) || <-received != "said" {
		t.Errorf("entries give %v", err)
	}
}

// TestEntriesOfANewerProtocol checks that they are left out: otherwise they would be sent forever.
func TestEntriesOfANewerProtocol(t *testing.T) {
	t.Parallel()
	var texts []string
	h := sdktest.New(t, sdk.OnTranscript(func(_ context.Context, a sdk.TranscriptAppended) error {
		for _, e := range a.Entries {
			texts = append(texts, e.Text)
		}
		return nil
	}))
	h.Configure(nil)
	unknown := chat.TranscriptEntry{ID: 1, Role: 99, Text: "from the future"}
	for _, entries := range [][]chat.TranscriptEntry{{unknown}, {unknown, {ID: 2, Role: chat.User, Text: "said"}}} {
		if err := h.TranscriptAppended(sdk.TranscriptAppended{Entries: entries}); err != nil {
			t.Error(err)
		}
	}
	if !cmp.Equal(texts, []string{"said"}) {
		t.Errorf("got %q", texts)
	}
}
