package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/outbox"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// screen is a network that notes its calls, and fails as the test says, call by call.
type screen struct {
	plugintest.Idle

	mu    sync.Mutex
	fails map[string][]error // by "send", "edit", "delete"
	calls []string
}

func (s *screen) tell(verb, what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := s.fails[verb]; len(left) > 0 {
		s.fails[verb] = left[1:]
		if left[0] != nil {
			s.calls = append(s.calls, verb+" fails")
			return left[0]
		}
	}
	s.calls = append(s.calls, verb+" "+what)
	return nil
}

func (s *screen) Send(_ context.Context, out chat.Outgoing) (chat.Receipt, error) {
	what := out.Text
	for _, m := range out.Media {
		what += " +" + m.FileName
	}
	for _, row := range out.Buttons {
		what += fmt.Sprint(row)
	}
	if out.ReplyTo != "" {
		what += " to " + string(out.ReplyTo)
	}
	if out.Silent {
		what += " silently"
	}
	if out.Poll != nil {
		what += " ? " + out.Poll.Question
	}
	if err := s.tell("send", what); err != nil {
		return chat.Receipt{}, err
	}
	return chat.Receipt{IDs: []chat.MessageID{"new", "more"}}, nil
}

// editor is a screen that can edit and delete.
type editor struct{ *screen }

func (e editor) Edit(_ context.Context, to chat.Address, id chat.MessageID, text string, buttons [][]chat.Button) error {
	return e.tell("edit", fmt.Sprint(to.Chat, "/", id, "=", text, buttons))
}

func (e editor) Delete(_ context.Context, to chat.Address, id chat.MessageID) error {
	return e.tell("delete", fmt.Sprint(to.Chat, "/", id))
}

func (e editor) React(_ context.Context, to chat.Address, id chat.MessageID, emoji string) error {
	return e.tell("react", fmt.Sprint(to.Chat, "/", id, "=", emoji))
}

func (e editor) Pin(_ context.Context, to chat.Address, id chat.MessageID, pinned bool) error {
	return e.tell("pin", fmt.Sprint(to.Chat, "/", id, "=", pinned))
}

// unmoved are chats that have kept their ids.
type unmoved struct{}

func (unmoved) Origin(_ string, id chat.ID) chat.ID { return id }

// hand delivers one item to a channel and returns what was noted of it.
func hand[T sdk.Channel](t *testing.T, channel T, d domain.Delivery) (journal []string) {
	t.Helper()
	return handTo(t, channel, chat.Limits{}, config.Delivery{}, d)
}

// handTo is hand for a channel with further limits, under a config.
func handTo[T sdk.Channel](t *testing.T, channel T, limits chat.Limits, seen config.Delivery, d domain.Delivery) (journal []string) {
	t.Helper()
	limits.Markup, limits.Edit = chat.Markdown, chat.EditLimits{Window: 15 * time.Minute}
	r, _ := running(t, limits, channel)
	p := newPieces(map[chat.ID][]string{"a": {""}})
	d.ID, d.Item.To, d.Key, d.CreatedAt = 1, chat.Address{Channel: "c", Chat: "a"}, "k", time.Now()
	if d.TargetSentAt.IsZero() {
		d.TargetSentAt = d.CreatedAt
	}
	p.heads["a"][0].Delivery = d
	p.ids = map[int64][]chat.MessageID{}
	o := open(p, outbox.Options{
		Plugins: r, Config: &config.Config{Outbox: config.Outbox{Attempts: 3, MaxAge: time.Hour}, Delivery: seen}, Conversations: conversation.NewResolver(&config.Config{}, r, unmoved{}),
	}, hclog.NewNullLogger())
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { o.Run(ctx) })
	time.Sleep(2 * time.Hour)
	cancel()
	done.Wait()
	for _, entry := range p.entries() {
		if entry == "delivered "+d.Item.Text {
			entry = fmt.Sprint("delivered as ", p.ids[1])
		}
		journal = append(journal, entry)
	}
	return journal
}

// Behaviour: delivery-edit, delivery-edit-old.
func TestOutcomesOfEdits(t *testing.T) {
	t.Parallel()
	gone, over := refuse(chat.TargetGone, 0), refuse(chat.Invalid, 0)
	away, cut := refuse(chat.Temporary, 0), errors.New("cut")
	buttons := [][]chat.Button{{{Label: "Go", Data: "/go"}}}
	change := domain.Delivery{Item: domain.OutboxItem{Text: "x", Buttons: buttons, Edits: 7}, Target: "m"}
	orSend := change
	orSend.Item.OrSend = true
	unsent := orSend
	unsent.Target = ""
	files := orSend
	files.Item.Media = []chat.Media{{FileName: "a.png"}}
	remove := domain.Delivery{Item: domain.OutboxItem{Edits: 7}, Target: "m"}
	album := remove
	album.More = []chat.MessageID{"n", "o"}
	emoji := "👍"
	react := domain.Delivery{Item: domain.OutboxItem{Target: "m", React: &emoji}, Target: "m"}
	yes := true
	pin := domain.Delivery{Item: domain.OutboxItem{Edits: 7, Pin: &yes}, Target: "m"}
	own := domain.Delivery{Item: domain.OutboxItem{Text: "x", Target: "m"}, Target: "m"}
	const edited, sent = "edit a/m=x[[{Go /go}]]", "send x[{Go /go}]"
	for name, test := range map[string]struct {
		piece   domain.Delivery
		age     time.Duration // of the message that is edited
		plain   bool          // the network cannot change anything
		fails   map[string][]error
		calls   []string
		journal []string
	}{
		"edited":  {piece: change, calls: []string{edited}, journal: []string{"delivered as [m]"}},
		"deleted": {piece: remove, calls: []string{"delete a/m"}, journal: []string{"delivered as []"}},
		"deleted with all its files": {
			piece: album, fails: map[string][]error{"delete": {gone}},
			calls: []string{"delete fails", "delete a/o", "delete a/m"}, journal: []string{"delivered as []"},
		},
		"reacted":                     {piece: react, calls: []string{"react a/m=👍"}, journal: []string{"delivered as []"}},
		"reacted, again":              {piece: react, fails: map[string][]error{"react": {away}}, calls: []string{"react fails", "react a/m=👍"}, journal: []string{"retry (uncertain false) ", "delivered as []"}},
		"reacted, refused":            {piece: react, fails: map[string][]error{"react": {over}}, calls: []string{"react fails"}, journal: []string{"delivered as []"}},
		"reacted, on a plain channel": {piece: react, plain: true, journal: []string{"delivered as []"}},
		"pinned":                      {piece: pin, calls: []string{"pin a/m=true"}, journal: []string{"delivered as []"}},
		"pinned, not tried again":     {piece: pin, fails: map[string][]error{"pin": {away}}, calls: []string{"pin fails"}, journal: []string{"delivered as []"}},
		"pinned, unknown":             {piece: pin, fails: map[string][]error{"pin": {cut}}, calls: []string{"pin fails"}, journal: []string{"delivered as []"}},
		"pinned, on a plain channel":  {piece: pin, plain: true, journal: []string{"delivered as []"}},
		"edited by the network's id":  {piece: own, calls: []string{"edit a/m=x[]"}, journal: []string{"delivered as []"}},
		"a plain channel": {
			piece: orSend, plain: true,
			calls: []string{sent}, journal: []string{"delivered as [new more]"},
		},
		"a plain channel, let be":      {piece: change, plain: true, journal: []string{"delivered as []"}},
		"a plain channel, not deleted": {piece: remove, plain: true, journal: []string{"delivered as []"}},
		"never sent":                   {piece: unsent, calls: []string{sent}, journal: []string{"delivered as [new more]"}},
		"gone": {
			piece: orSend, fails: map[string][]error{"edit": {gone}, "delete": {gone}},
			calls: []string{"edit fails", "delete fails", sent}, journal: []string{"delivered as [new more]"},
		},
		"gone, they say": {
			piece: orSend, fails: map[string][]error{"edit": {gone}},
			calls: []string{"edit fails", "delete a/m", sent}, journal: []string{"delivered as [new more]"},
		},
		"gone, let be":         {piece: change, fails: map[string][]error{"edit": {gone}}, calls: []string{"edit fails"}, journal: []string{"delivered as []"}},
		"gone, deleted before": {piece: remove, fails: map[string][]error{"delete": {gone}}, calls: []string{"delete fails"}, journal: []string{"delivered as []"}},
		"too late": {
			piece: orSend, fails: map[string][]error{"edit": {over}},
			calls: []string{"edit fails", "delete a/m", sent}, journal: []string{"delivered as [new more]"},
		},
		"too late for both": {
			piece: orSend, fails: map[string][]error{"edit": {over}, "delete": {over}},
			calls: []string{"edit fails", "delete fails", sent}, journal: []string{"delivered as [new more]"},
		},
		"files cannot be edited in": {
			piece: files,
			calls: []string{"delete a/m", "send x +a.png[{Go /go}]"}, journal: []string{"delivered as [new more]"},
		},
		"again": {
			piece: change, fails: map[string][]error{"edit": {away, cut}},
			calls: []string{"edit fails", "edit fails", edited}, journal: []string{"retry (uncertain false) x", "retry (uncertain true) x", "delivered as [m]"},
		},
		"not forever": {
			piece: orSend, fails: map[string][]error{"edit": {away, cut, away}},
			calls:   []string{"edit fails", "edit fails", "edit fails", "delete a/m", sent},
			journal: []string{"retry (uncertain false) x", "retry (uncertain true) x", "delivered as [new more]"},
		},
		"not forever, unchanged": {
			piece: change, fails: map[string][]error{"edit": {away, away, away}},
			calls: []string{"edit fails", "edit fails", "edit fails"}, journal: []string{"retry (uncertain false) x", "retry (uncertain false) x", "delivered as []"},
		},
		"sent in the end and refused": {
			piece: orSend, fails: map[string][]error{"edit": {gone}, "send": {refuse(chat.Forbidden, 0)}},
			calls: []string{"edit fails", "delete a/m", "send fails"}, journal: []string{"dead (forbidden) x"},
		},
		"within the window": {piece: orSend, age: 14 * time.Minute, calls: []string{edited}, journal: []string{"delivered as [m]"}},
		"behind the window": {
			piece: orSend, age: 16 * time.Minute,
			calls: []string{"delete a/m", sent}, journal: []string{"delivered as [new more]"},
		},
		"behind the window, let be":  {piece: change, age: time.Hour, journal: []string{"delivered as []"}},
		"behind the window, deleted": {piece: remove, age: time.Hour, calls: []string{"delete a/m"}, journal: []string{"delivered as []"}},
		"too old, let be": {
			piece: change, fails: map[string][]error{"edit": {refuse(chat.RateLimited, 90*time.Minute)}},
			calls: []string{"edit fails"}, journal: []string{"retry (uncertain false) x", "delivered as []"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &screen{fails: test.fails}
				test.piece.TargetSentAt = time.Now().Add(-test.age)
				var journal []string
				if test.plain {
					journal = hand(t, s, test.piece)
				} else {
					journal = hand(t, editor{s}, test.piece)
				}
				if diff := cmp.Diff(test.calls, s.calls); diff != "" {
					t.Errorf("the network gets (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(test.journal, journal); diff != "" {
					t.Errorf("the store gets (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A line of 256 KiB a second is an ordinary one to send on.
// Behaviour: files-time.
func TestALargeFileHasItsTime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files []chat.Media
		wait  time.Duration
		want  string
	}{
		"a text":              {wait: 70 * time.Second, want: "retry (uncertain true) x"},
		"a file":              {files: []chat.Media{{Size: 50 << 20}}, wait: 4 * time.Minute, want: "delivered as [1]"},
		"files":               {files: []chat.Media{{Size: 25 << 20}, {Size: 25 << 20}}, wait: 4 * time.Minute, want: "delivered as [1]"},
		"a file, not forever": {files: []chat.Media{{Size: 50 << 20}}, wait: 5 * time.Minute, want: "retry (uncertain true) x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				journal := hand(t, &network{wait: test.wait}, domain.Delivery{Item: domain.OutboxItem{Text: "x", Media: test.files}})
				if len(journal) == 0 || journal[0] != test.want {
					t.Errorf("%q, want first %q", journal, test.want)
				}
			})
		})
	}
}

// Behaviour: delivery-reply.
func TestAReplyThatIsRefused(t *testing.T) {
	t.Parallel()
	unknown := &chat.Failure{Reason: chat.Invalid, MaybeDelivered: true}
	for name, test := range map[string]struct {
		replyTo chat.MessageID
		files   []chat.Media
		fails   []error
		calls   []string
		journal []string
	}{
		"its target is gone": {"m", nil, []error{refuse(chat.TargetGone, 0)}, []string{"send fails", "send x"}, []string{"delivered as [new more]"}},
		"it is invalid":      {"m", nil, []error{refuse(chat.Invalid, 0)}, []string{"send fails", "send x"}, []string{"delivered as [new more]"}},
		"all of it is":       {"m", nil, []error{refuse(chat.Invalid, 0), refuse(chat.Invalid, 0)}, []string{"send fails", "send fails"}, []string{"dead (invalid) x"}},
		"it may be there":    {"m", nil, []error{unknown}, []string{"send fails"}, []string{"dead (" + unknown.Error() + ") x"}},
		"it is forbidden":    {"m", nil, []error{refuse(chat.Forbidden, 0)}, []string{"send fails"}, []string{"dead (forbidden) x"}},
		"no reply":           {"", nil, []error{refuse(chat.Invalid, 0)}, []string{"send fails"}, []string{"dead (invalid) x"}},
		"its files, too": {
			"m",
			[]chat.Media{{FileName: "a.png"}},
			[]error{refuse(chat.TargetGone, 0), refuse(chat.MediaRejected, 0)},
			[]string{"send fails", "send fails", "send x\n\n(Could not be sent: `a.png`)"},
			[]string{"delivered as [new more]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &screen{fails: map[string][]error{"send": test.fails}}
				journal := hand(t, s, domain.Delivery{Item: domain.OutboxItem{Text: "x", ReplyTo: test.replyTo, Media: test.files}})
				if diff := cmp.Diff(test.calls, s.calls) + cmp.Diff(test.journal, journal); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// Behaviour: files-plainer.
func TestFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	rejected, long := refuse(chat.MediaRejected, 0), refuse(chat.TooLong, 0)
	files := []chat.Media{
		{FileName: "my `fine`\n\u202efile.pdf", Kind: chat.File},
		{Kind: chat.Voice},
		{FileName: "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890.png", Kind: chat.Image},
	}
	const line = "(Could not be sent: `my finefile.pdf`, voice, `0123456789012345678901234567890123456789012345678901234567890123456789012345678…`)"
	for name, test := range map[string]struct {
		text  string
		files []chat.Media
		fails []error
		calls []string
		want  string
	}{
		"with a text":        {"Look", files, []error{rejected}, []string{"send fails", "send Look\n\n" + line + " silently"}, "delivered as [new more]"},
		"without one":        {"", files, []error{rejected}, []string{"send fails", "send " + line + " silently"}, "delivered as [new more]"},
		"no space":           {"Look", files[:2], []error{rejected, long}, []string{"send fails", "send fails", "send Look silently"}, "delivered as [new more]"},
		"taken":              {"Look", files[1:2], nil, []string{"send Look + silently"}, "delivered as [new more]"},
		"there are none":     {"Look", nil, []error{rejected}, []string{"send fails"}, "dead (media rejected) Look"},
		"neither text taken": {"Look", files[:2], []error{rejected, long, long}, []string{"send fails", "send fails", "send fails"}, "dead (too long) Look"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &screen{fails: map[string][]error{"send": test.fails}}
				journal := hand(t, s, domain.Delivery{Item: domain.OutboxItem{Text: test.text, Media: test.files, Silent: true}})
				if diff := cmp.Diff(test.calls, s.calls); diff != "" {
					t.Errorf("the network gets (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{test.want}, journal); diff != "" {
					t.Errorf("the store gets (-want +got):\n%s", diff)
				}
			})
		})
	}
}
