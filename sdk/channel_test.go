package sdk_test

import (
	"context"
	"errors"
	"fmt"
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

// plainChannel has the two required methods of a channel; the test provides the code.
type plainChannel struct {
	run  func(context.Context, sdk.Inbox) error
	send func(context.Context, chat.Outgoing) (chat.Receipt, error)
}

func (c *plainChannel) Run(ctx context.Context, in sdk.Inbox) error { return c.run(ctx, in) }

func (c *plainChannel) Send(ctx context.Context, out chat.Outgoing) (chat.Receipt, error) {
	return c.send(ctx, out)
}

// richChannel also implements all optional interfaces.
type richChannel struct {
	plainChannel

	last   string
	health error
	status string
}

func (c *richChannel) Limits(kind chat.Kind) chat.Limits {
	return chat.Limits{Text: chat.TextLimit{Max: 100 * int(kind), Unit: chat.UTF16}, Markup: chat.Markdown, Draft: chat.DraftByEdit}
}

func (c *richChannel) Edit(_ context.Context, to chat.Address, id chat.MessageID, text string, buttons [][]chat.Button) error {
	c.last = fmt.Sprint("edit ", to, id, text, buttons)
	return &chat.Failure{Reason: chat.TargetGone}
}

func (c *richChannel) Delete(_ context.Context, to chat.Address, id chat.MessageID) error {
	c.last = fmt.Sprint("delete ", to, id)
	return nil
}

func (c *richChannel) React(_ context.Context, to chat.Address, id chat.MessageID, emoji string) error {
	c.last = fmt.Sprint("react ", to, id, emoji)
	return nil
}

func (c *richChannel) Pin(_ context.Context, to chat.Address, id chat.MessageID, pinned bool) error {
	c.last = fmt.Sprint("pin ", to, id, pinned)
	return nil
}

func (c *richChannel) Typing(_ context.Context, to chat.Address, active bool) error {
	c.last = fmt.Sprint("typing ", to, active)
	return errors.New("cut off")
}

func (c *richChannel) Draft(_ context.Context, to chat.Address, draftID int64, text string) error {
	c.last = fmt.Sprint("draft ", to, draftID, text)
	return &chat.Failure{Reason: chat.Forbidden}
}

func (c *richChannel) SetCommands(_ context.Context, commands []chat.CommandSpec) error {
	c.last = fmt.Sprint("commands ", commands)
	if len(commands) == 0 {
		panic("oh")
	}
	return &chat.Failure{Reason: chat.RateLimited, RetryAfter: time.Minute}
}

func (c *richChannel) Health(context.Context) error { return c.health }

func (c *richChannel) Status() string { return c.status }

func channelOf[T sdk.Channel](c T) sdk.Component {
	limits := chat.Limits{Text: chat.TextLimit{Max: 10, Unit: chat.Bytes}}
	return sdk.NewChannel(limits, func(context.Context, sdk.Env, struct{}) (T, error) { return c, nil })
}

func bare() sdk.Component { return channelOf(&plainChannel{}) }

// untilDone is a Run that does nothing.
func untilDone(ctx context.Context, _ sdk.Inbox) error {
	<-ctx.Done()
	return ctx.Err()
}

func message(id, text string) chat.Event {
	return chat.Event{
		ID: chat.EventID(id), Chat: chat.Chat{ID: "club", Kind: chat.Group}, Sender: chat.Sender{ID: "anna"},
		Body: chat.Message{ID: chat.MessageID(id), Text: text},
	}
}

func TestCapabilitiesAreTheInterfacesOfTheType(t *testing.T) {
	t.Parallel()
	if got := sdktest.New(t, bare()).Describe().Capabilities; !cmp.Equal(got, []string{"CAPABILITY_CHANNEL"}) {
		t.Errorf("a plain channel has the capabilities %v", got)
	}
	want := []string{
		"CAPABILITY_CHANNEL", "CAPABILITY_CHANNEL_EDIT", "CAPABILITY_CHANNEL_DELETE", "CAPABILITY_CHANNEL_REACT",
		"CAPABILITY_CHANNEL_TYPING", "CAPABILITY_CHANNEL_DRAFT", "CAPABILITY_CHANNEL_COMMANDS", "CAPABILITY_CHANNEL_PIN",
	}
	h := sdktest.New(t, channelOf(&richChannel{}))
	if got := h.Describe().Capabilities; !cmp.Equal(got, want) {
		t.Errorf("a rich channel has the capabilities %v", got)
	}
	if direct, group := h.Limits(chat.Direct).Text.Max, h.Limits(chat.Group).Text.Max; direct != 100 || group != 200 {
		t.Errorf("limits by kind are %d and %d", direct, group)
	}
	if got := sdktest.New(t, bare()).Limits(chat.Group).Text; got != (chat.TextLimit{Max: 10, Unit: chat.Bytes}) {
		t.Errorf("fixed limits are %+v", got)
	}
}

func TestOptionalMethods(t *testing.T) {
	t.Parallel()
	c := &richChannel{}
	h := sdktest.New(t, channelOf(c))
	h.Configure(nil)
	to := chat.Address{Channel: "test", Chat: "club", Thread: "t"}
	failure := func(err error) *chat.Failure { f, _ := errors.AsType[*chat.Failure](err); return f }
	err := h.Edit(to, "m1", "new", [][]chat.Button{{{Label: "yes", Data: "y"}}})
	if f := failure(err); f == nil || f.Reason != chat.TargetGone || f.MaybeDelivered || c.last != "edit {test club t}m1new[[{yes y}]]" {
		t.Errorf("Edit: %v, %q", err, c.last)
	}
	if err := h.Delete(to, "m1"); err != nil || c.last != "delete {test club t}m1" {
		t.Errorf("Delete: %v, %q", err, c.last)
	}
	if err := h.React(to, "m1", "👍"); err != nil || c.last != "react {test club t}m1👍" {
		t.Errorf("React: %v, %q", err, c.last)
	}
	if err := h.Pin(to, "m1", true); err != nil || c.last != "pin {test club t}m1true" {
		t.Errorf("Pin: %v, %q", err, c.last)
	}
	err = h.Typing(to, true)
	if f := failure(err); f == nil || f.Reason != chat.Temporary || !f.MaybeDelivered || c.last != "typing {test club t} true" {
		t.Errorf("Typing: %v, %q", err, c.last)
	}
	err = h.Draft(to, 7, "so far")
	if f := failure(err); f == nil || f.Reason != chat.Forbidden || c.last != "draft {test club t} 7so far" {
		t.Errorf("Draft: %v, %q", err, c.last)
	}
	if err := h.Draft(to, 0, "so far"); status.Code(err) != codes.InvalidArgument {
		t.Errorf("Draft without an id: %v", err)
	}
	err = h.SetCommands(chat.CommandSpec{Name: "new", Usage: "/new", Summary: "Again.", MinAuthority: chat.Owner}, chat.CommandSpec{Name: "x"})
	if f := failure(err); f == nil || f.RetryAfter != time.Minute || c.last != "commands [{new /new Again. owner} {x   none}]" {
		t.Errorf("SetCommands: %v, %q", err, c.last)
	}
	if err := h.SetCommands(); !sdktest.Panicked(err) {
		t.Errorf("SetCommands that panics: %v", err)
	}
	for name, commands := range map[string][]chat.CommandSpec{
		"a bad name": {{Name: "rm -rf"}}, "a name twice": {{Name: "x"}, {Name: "x"}},
	} {
		if err := h.SetCommands(commands...); status.Code(err) != codes.InvalidArgument {
			t.Errorf("SetCommands with %s: %v", name, err)
		}
	}
	plain := sdktest.New(t, bare())
	plain.Configure(nil)
	if err := plain.SetCommands(); status.Code(err) != codes.Unimplemented {
		t.Errorf("SetCommands of a channel that cannot: %v", err)
	}
	if err := plain.Edit(to, "m1", "x", nil); status.Code(err) != codes.Unimplemented {
		t.Errorf("Edit of a channel that cannot: %v", err)
	}
	if err := plain.Edit(chat.Address{}, "m1", "x", nil); status.Code(err) != codes.InvalidArgument {
		t.Errorf("Edit without a chat: %v", err)
	}
}

func TestSend(t *testing.T) {
	t.Parallel()
	var got chat.Outgoing
	c := &plainChannel{send: func(_ context.Context, out chat.Outgoing) (chat.Receipt, error) {
		got = out
		switch out.Text {
		case "refused":
			return chat.Receipt{}, fmt.Errorf("post: %w", &chat.Failure{
				Reason: chat.RateLimited, RetryAfter: time.Minute, Err: errors.New("too many"),
			})
		case "cut off":
			return chat.Receipt{}, errors.New("connection reset")
		case "panic":
			panic("oh")
		}
		return chat.Receipt{IDs: []chat.MessageID{"1", "2"}}, nil
	}}
	h := sdktest.New(t, channelOf(c))
	send := func(text string) (chat.Receipt, error) {
		return h.Send(chat.Outgoing{Key: "k", To: chat.Address{Channel: "test", Chat: "club"}, Text: text, ReplyTo: "m", Silent: true})
	}
	if _, err := send("early"); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("before Configure: %v", err)
	}
	h.Configure(nil)
	receipt, err := send("hello")
	want := chat.Outgoing{Key: "k", To: chat.Address{Channel: "test", Chat: "club"}, Text: "hello", ReplyTo: "m", Silent: true}
	if err != nil || !cmp.Equal(receipt.IDs, []chat.MessageID{"1", "2"}) || !cmp.Equal(got, want) {
		t.Errorf("sent %+v, receipt %v, %v", got, receipt, err)
	}
	_, err = send("refused")
	if f, _ := errors.AsType[*chat.Failure](err); f == nil || f.Reason != chat.RateLimited || f.RetryAfter != time.Minute || f.MaybeDelivered {
		t.Errorf("a refusal: %+v", err)
	}
	_, err = send("cut off")
	if f, _ := errors.AsType[*chat.Failure](err); f == nil || f.Reason != chat.Temporary || !f.MaybeDelivered {
		t.Errorf("an untyped error: %+v", err)
	}
	if _, err = send("panic"); !sdktest.Panicked(err) || !strings.Contains(h.Logs(), "channel_test.go") {
		t.Errorf("a panic: %v, logs %s", err, h.Logs())
	}
	if _, err = send("hello"); err != nil {
		t.Errorf("after a panic: %v", err)
	}
	if _, err := h.Send(chat.Outgoing{Key: "k", Text: "x"}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("without a chat: %v", err)
	}
}

func TestSubmit(t *testing.T) {
	t.Parallel()
	verdicts := make(chan chat.Verdict, 10)
	c := &plainChannel{run: func(ctx context.Context, in sdk.Inbox) error {
		for _, e := range []chat.Event{message("1", "a"), message("1", "a"), message("2", "b"), {ID: "3"}, message("4", "d")} {
			verdict, err := in.Submit(ctx, e)
			if err != nil {
				return err
			}
			verdicts <- verdict
		}
		return untilDone(ctx, in)
	}}
	h := sdktest.New(t, channelOf(c))
	refusals := 0
	h.Host.OnSubmit(func(ctx context.Context, e chat.Event) (chat.Verdict, error) {
		switch {
		case e.ID == "2":
			return chat.Rejected, nil
		case e.ID == "4" && refusals < 2:
			refusals++
			return 0, status.Error([]codes.Code{codes.ResourceExhausted, codes.DeadlineExceeded}[refusals-1], "not now")
		}
		return h.Host.Accept(ctx, e)
	})
	h.Configure(nil)
	run := h.Run()
	for _, want := range []chat.Verdict{chat.Accepted, chat.Duplicate, chat.Rejected, chat.Rejected, chat.Accepted} {
		if got := <-verdicts; got != want {
			t.Errorf("verdict %s, want %s", got, want)
		}
	}
	run.Stop()
	if n := len(h.Host.Submissions()); n != 6 { // the malformed one is never sent, the last one three times
		t.Errorf("the host saw %d submissions, want 6", n)
	}
	if !strings.Contains(h.Logs(), "chat.id: empty") {
		t.Errorf("the log does not say what was wrong with the malformed event: %s", h.Logs())
	}
	if first := h.NextEvent(); !cmp.Equal(first, message("1", "a")) {
		t.Errorf("the host got %+v", first)
	}
}

func TestSubmitEndsWithItsContextAndWithThePlugin(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"run", "shutdown"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			result := make(chan error, 1)
			c := &plainChannel{run: func(ctx context.Context, in sdk.Inbox) error {
				own := context.WithoutCancel(ctx)
				if end == "run" {
					own = ctx
				}
				_, err := in.Submit(own, message("1", "a"))
				result <- err
				return untilDone(ctx, in)
			}}
			h := sdktest.New(t, channelOf(c))
			submitted := make(chan struct{}, 100)
			h.Host.OnSubmit(func(ctx context.Context, e chat.Event) (chat.Verdict, error) {
				submitted <- struct{}{}
				return sdktest.Unavailable(ctx, e)
			})
			h.Configure(nil)
			run := h.Run()
			<-submitted
			if end == "run" {
				run.Stop()
			} else {
				h.Shutdown()
			}
			if err := <-result; err == nil {
				t.Error("Submit said that the host has the event")
			}
		})
	}
}

func TestSubmitDoesNotRepeatWhatIsHopeless(t *testing.T) {
	t.Parallel()
	c := &plainChannel{run: func(ctx context.Context, in sdk.Inbox) error {
		_, err := in.Submit(ctx, message("1", "a"))
		return err
	}}
	h := sdktest.New(t, channelOf(c))
	h.Host.OnSubmit(func(context.Context, chat.Event) (chat.Verdict, error) {
		return 0, status.Error(codes.Internal, "a bug")
	})
	h.Configure(nil)
	err := h.Run().Wait()
	if status.Code(err) != codes.Aborted || !strings.Contains(err.Error(), "a bug") || len(h.Host.Submissions()) != 1 {
		t.Errorf("Run ended with %v after %d submissions", err, len(h.Host.Submissions()))
	}
}

func TestHowRunEnds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		run    func(context.Context, sdk.Inbox) error
		code   codes.Code
		states []chat.State
	}{
		"an error": {
			func(_ context.Context, in sdk.Inbox) error {
				in.Report(chat.Connecting, "")
				in.Report(chat.Connected, "as anna")
				in.Report(chat.Disconnected, "")
				return errors.New("gone")
			},
			codes.Aborted,
			[]chat.State{chat.Connecting, chat.Connected, chat.Disconnected},
		},
		"without an error": {func(context.Context, sdk.Inbox) error { return nil }, codes.Aborted, nil},
		"bad credentials": {
			func(context.Context, sdk.Inbox) error { return fmt.Errorf("log in: %w", sdk.ErrBadCredentials) },
			codes.FailedPrecondition,
			[]chat.State{chat.BadCredentials},
		},
		"logged out": {
			func(context.Context, sdk.Inbox) error { return sdk.ErrLoggedOut },
			codes.FailedPrecondition,
			[]chat.State{chat.LoggedOut},
		},
		"a panic": {func(context.Context, sdk.Inbox) error { panic("oh") }, codes.Internal, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := sdktest.New(t, channelOf(&plainChannel{run: tt.run}))
			h.Configure(nil)
			run := h.Run()
			if err := run.Wait(); status.Code(err) != tt.code {
				t.Errorf("Run ended with %v, want %s", err, tt.code)
			}
			for _, want := range tt.states {
				if got := run.NextState(); got.State != want {
					t.Errorf("state %s, want %s", got.State, want)
				}
			}
		})
	}
}

func TestReportAfterTheEndIsLost(t *testing.T) {
	t.Parallel()
	inboxes := make(chan sdk.Inbox, 1)
	h := sdktest.New(t, channelOf(&plainChannel{run: func(ctx context.Context, in sdk.Inbox) error {
		in.ReportURL(chat.Connected, "ready", "http://127.0.0.1/?token=x")
		inboxes <- in
		return untilDone(ctx, in)
	}}))
	h.Configure(nil)
	run := h.Run()
	if got, want := run.NextState(), (sdktest.State{State: chat.Connected, Detail: "ready", URL: "http://127.0.0.1/?token=x"}); got != want {
		t.Errorf("state %+v, want %+v", got, want)
	}
	run.Stop()
	(<-inboxes).Report(chat.Connected, "too late")
	again := h.Run()
	if got := again.NextState(); got.Detail != "ready" {
		t.Errorf("the second Run reports %+v", got)
	}
	again.Stop()
}

func TestOneRunAtATime(t *testing.T) {
	t.Parallel()
	h := sdktest.New(t, channelOf(&plainChannel{run: func(ctx context.Context, in sdk.Inbox) error {
		in.Report(chat.Connected, "")
		return untilDone(ctx, in)
	}}))
	if err := h.Run().Wait(); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("before Configure Run ends with %v", err)
	}
	h.Configure(nil)
	h.Run().NextState()
	if err := h.Run().Wait(); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a second Run ends with %v", err)
	}
}
