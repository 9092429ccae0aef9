package sdk_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// lockedChannel asks for a name and shows a code; it refuses "nobody".
type lockedChannel struct{ left chan struct{} }

func (*lockedChannel) Run(ctx context.Context, _ sdk.Inbox) error { <-ctx.Done(); return nil }

func (*lockedChannel) Send(context.Context, chat.Outgoing) (chat.Receipt, error) {
	return chat.Receipt{}, nil
}

func (c *lockedChannel) Login(ctx context.Context, answers map[string]string, show func(chat.LoginStep)) (chat.UserID, error) {
	switch answers["name"] {
	case "":
		show(chat.LoginStep{ID: "name", Instructions: "Say who you are.", Input: "Name"})
		return "", nil
	case "nobody":
		return "", &chat.Failure{Reason: chat.Forbidden, Err: errors.New("nobody is not let in")}
	case "mute":
		return "", nil
	case "slow":
		show(chat.LoginStep{ID: "wait", Code: "1"})
		<-ctx.Done()
		close(c.left)
		return "", ctx.Err()
	}
	show(chat.LoginStep{ID: "scan", Instructions: "Scan.", QR: "https://example.test/#1"})
	show(chat.LoginStep{ID: "type", Code: "ABCD-EFGH"})
	return chat.UserID(answers["name"]), nil
}

func locked(t *testing.T) (*sdktest.Harness, *lockedChannel) {
	t.Helper()
	c := &lockedChannel{left: make(chan struct{})}
	h := sdktest.New(t, sdk.NewChannel(chat.Limits{}, func(context.Context, sdk.Env, struct{}) (*lockedChannel, error) { return c, nil }))
	if !slices.Contains(h.Describe().Capabilities, "CAPABILITY_CHANNEL_LOGIN") {
		t.Error("the channel is described without its login")
	}
	h.Configure(nil)
	return h, c
}

func TestLogin(t *testing.T) {
	t.Parallel()
	h, _ := locked(t)
	var steps []chat.LoginStep
	keep := func(s chat.LoginStep) { steps = append(steps, s) }
	if account, err := h.Login(t.Context(), nil, keep); account != "" || err != nil {
		t.Errorf("without an answer: %q, %v", account, err)
	}
	account, err := h.Login(t.Context(), map[string]string{"name": "anna"}, keep)
	if account != "anna" || err != nil {
		t.Errorf("logged in as %q, %v", account, err)
	}
	want := []chat.LoginStep{
		{ID: "name", Instructions: "Say who you are.", Input: "Name"},
		{ID: "scan", Instructions: "Scan.", QR: "https://example.test/#1"},
		{ID: "type", Code: "ABCD-EFGH"},
	}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestLoginsThatFail(t *testing.T) {
	t.Parallel()
	h, c := locked(t)
	ignore := func(chat.LoginStep) {}
	_, err := h.Login(t.Context(), map[string]string{"name": "nobody"}, ignore)
	if f, ok := errors.AsType[*chat.Failure](err); !ok || f.Reason != chat.Forbidden || err.Error() != "forbidden: nobody is not let in" {
		t.Errorf("a refusal comes as %v", err)
	}
	if _, err := h.Login(t.Context(), map[string]string{"name": "mute"}, ignore); status.Code(err) != codes.Internal {
		t.Errorf("an end without a word comes as %v", err)
	}
	if _, err := h.Login(t.Context(), map[string]string{"": "x"}, ignore); status.Code(err) != codes.InvalidArgument {
		t.Errorf("an answer to nothing gives %v", err)
	}
	ctx, leave := context.WithCancel(t.Context())
	if _, err := h.Login(ctx, map[string]string{"name": "slow"}, func(chat.LoginStep) { leave() }); err == nil {
		t.Error("who left is logged in")
	}
	<-c.left
}

func TestChannelsWithoutALogin(t *testing.T) {
	t.Parallel()
	h := sdktest.New(t, sdk.NewChannel(chat.Limits{}, func(context.Context, sdk.Env, struct{}) (*plainChannel, error) { return &plainChannel{}, nil }))
	if slices.Contains(h.Describe().Capabilities, "CAPABILITY_CHANNEL_LOGIN") {
		t.Error("the channel is described with a login")
	}
	h.Configure(nil)
	if _, err := h.Login(t.Context(), nil, func(chat.LoginStep) {}); status.Code(err) != codes.Unimplemented {
		t.Errorf("its login gives %v", err)
	}
}
