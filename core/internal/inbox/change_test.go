package inbox_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	long := chat.MessageID(strings.Repeat("x", wire.MaxID+1))
	for name, test := range map[string]struct {
		event    chat.Event
		standing store.Standing
		verdict  chat.Verdict
		changes  []string
	}{
		"an edit of what waits":    {event("owner", chat.Edited{ID: "m", Text: "new\r\ntext "}), store.StandingWaiting, chat.Accepted, []string{`tg/owner/m: "new\ntext", written "new\r\ntext "`}},
		"an edit that mentions":    {event("owner", chat.Edited{ID: "m", Text: "@bot: new", Mentions: []chat.Mention{{Length: 4, IsSelf: true}}}), store.StandingWaiting, chat.Accepted, []string{`tg/owner/m: "new", written "@bot: new"`}},
		"an edit to a mention":     {event("owner", chat.Edited{ID: "m", Text: "@bot", Mentions: []chat.Mention{{Length: 4, IsSelf: true}}}), store.StandingWaiting, chat.Accepted, []string{`tg/owner/m: "@bot", written ""`}},
		"an edit of what runs":     {event("owner", chat.Edited{ID: "m", Text: "new"}), store.StandingRunning, chat.Rejected, []string{`tg/owner/m: "new", written ""`}},
		"an edit of what was":      {event("owner", chat.Edited{ID: "m", Text: "new"}), store.StandingNone, chat.Rejected, []string{`tg/owner/m: "new", written ""`}},
		"a stranger's edit":        {event("stranger", chat.Edited{ID: "m", Text: "new"}), store.StandingWaiting, chat.Rejected, nil},
		"an edit to nothing":       {event("owner", chat.Edited{ID: "m", Text: " \u200b"}), store.StandingWaiting, chat.Rejected, nil},
		"an edit with a long id":   {event("owner", chat.Edited{ID: long, Text: "new"}), store.StandingWaiting, chat.Rejected, nil},
		"a deletion of what waits": {event("", chat.Deleted{ID: "m"}), store.StandingWaiting, chat.Accepted, []string{"tg//m is gone"}},
		"a deletion of what runs":  {event("owner", chat.Deleted{ID: "m"}), store.StandingRunning, chat.Rejected, []string{"tg/owner/m is gone"}},
		"a deletion with a long id": {
			event("owner", chat.Deleted{ID: long}), store.StandingWaiting, chat.Rejected, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &journal{standing: test.standing}
			outcome, err := box(j).Submit(t.Context(), "tg", test.event)
			if err != nil || outcome.Verdict != test.verdict || len(j.accepted) != 0 {
				t.Errorf("%+v, error %v, accepted %+v", outcome, err, j.accepted)
			}
			if diff := cmp.Diff(test.changes, j.changes); diff != "" {
				t.Error(diff)
			}
			if len(test.changes) > 0 {
				j.fail = errors.New("the disk is full")
				if _, err := box(j).Submit(t.Context(), "tg", test.event); err == nil {
					t.Error("the host seems to have what it has not")
				}
			}
		})
	}
}

// What waits behind others says so in the chat, unless it is told to the running turn or ends that.
func TestReceipt(t *testing.T) {
	t.Parallel()
	for mode, want := range map[store.Mode]bool{store.Followup: true, store.Queue: true, store.Collect: true, store.Steer: false, store.SteerBacklog: false, store.Interrupt: false} {
		j := &journal{chosen: map[string]store.Overrides{"tg:owner": {Queue: store.QueueOverrides{Mode: mode}}}}
		submit(t, j, settings, says("owner", "hi"))
		if got := j.accepted[0].Receipt; (got != nil) != want {
			t.Errorf("%s: %v", mode, got != nil)
		} else if want && got(store.Acceptance{Seq: 7}).Text != "7" {
			t.Errorf("%s: another message's", mode)
		}
	}
}

// What a person writes shows how far its answer is where the config wants that of its channel.
func TestReacts(t *testing.T) {
	t.Parallel()
	for emoji, want := range map[string]bool{"": false, "👀": false, config.AckStatus: true} {
		j := &journal{}
		submit(t, j, func(channel string) config.Settings {
			s := settings(channel)
			s.Reply.AckReaction = emoji
			return s
		}, says("owner", "hi"))
		if got := j.accepted[0].Reacts; got != want {
			t.Errorf("%q: %v", emoji, got)
		}
	}
}
