package tools_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

func sessionsRig(t *testing.T) *rig {
	r := newRig(t)
	r.sessions = []domain.Session{
		{Key: "discord:group:g", Kind: chat.Group, Title: "Family", Route: address("discord", "g"), InteractedAt: noon, Label: "chores"},
		{Key: "telegram:anna", Kind: chat.Direct, Route: address("telegram", "anna"), InteractedAt: noon.Add(-time.Hour), Model: "sonnet"},
		{Key: "telegram:bob", Kind: chat.Direct, CreatedAt: noon.Add(time.Hour)},
	}
	r.history["discord:group:g"] = []chat.TranscriptEntry{
		{ID: 1, Role: chat.User, Text: "who cooks?", At: noon}, {ID: 2, Role: chat.Assistant, Text: "Bob \"does\"\n<now>", At: noon.Add(time.Minute)},
	}
	r.history["telegram:anna"] = []chat.TranscriptEntry{{ID: 3, Role: chat.System, Text: "a new day", At: noon}}
	return r
}

// Behaviour: sessions-tool.
func TestSessionsOfAnOwner(t *testing.T) {
	t.Parallel()
	turn := sessionsRig(t).Turn("1", anna)
	for arguments, want := range map[string]string{
		`{"action":"list"}`: `{"of":3,"sessions":[` +
			`{"session":"telegram:bob","kind":"direct","last_message":"2026-03-03 13:00 UTC"},` +
			`{"session":"discord:group:g","label":"chores","title":"Family","kind":"group","chat":"discord:g","last_message":"2026-03-03 12:00 UTC"},` +
			`{"session":"telegram:anna","kind":"direct","chat":"telegram:anna","last_message":"2026-03-03 11:00 UTC","model":"sonnet","this_conversation":true}]}`,
		`{"action":"list","limit":1}`:                              `{"of":3,"sessions":[{"session":"telegram:bob","kind":"direct","last_message":"2026-03-03 13:00 UTC"}]}`,
		`{"action":"read","session":"discord:group:g","limit":-5}`: `{"messages":[{"at":"2026-03-03 12:01 UTC","role":"assistant","text":"Bob \"does\"\n<now>"}],"session":"discord:group:g"}`,
		`{"action":"read","session":"chores"}`: `{"messages":[{"at":"2026-03-03 12:00 UTC","role":"user","text":"who cooks?"},` +
			`{"at":"2026-03-03 12:01 UTC","role":"assistant","text":"Bob \"does\"\n<now>"}],"session":"discord:group:g"}`,
		`{"action":"read"}`: `{"messages":[{"at":"2026-03-03 12:00 UTC","role":"system","text":"a new day"}],"session":"telegram:anna"}`,
	} {
		if got := use(t, turn, "sessions", arguments); got.IsError || got.text() != want {
			t.Errorf("%s:\n%s\nwant\n%s", arguments, got.text(), want)
		}
	}
	for arguments, want := range map[string]string{
		`{}`:                                         `"list", "read"`,
		`{"action":"drop"}`:                          `"list", "read"`,
		`{"action":"list","limit":"many"}`:           "limit cannot be string",
		`{"action":"read","session":"nowhere"}`:      `no session "nowhere"`,
		`{"action":"read","session":"telegram:"}`:    `no session "telegram:"`,
		`{"action":"read","session":"telegram:bob"}`: "The host failed at this", // and not where its files are
	} {
		if got := use(t, turn, "sessions", arguments); !got.IsError || !strings.Contains(got.text(), want) {
			t.Errorf("%s: %q", arguments, got.text())
		}
	}
}

// Others see their own session alone, and so does an owner where others read along.
// Behaviour: sessions-tool.
func TestSessionsOfOthers(t *testing.T) {
	t.Parallel()
	group := chat.Caller{Session: "discord:group:g", Address: address("discord", "g"), Kind: chat.Group, Authority: chat.Owner}
	stranger, nobody := group, group
	stranger.Authority, nobody.Authority, nobody.Kind = chat.Other, 0, chat.Direct
	authorised := nobody
	authorised.Authority = chat.Authorised
	fresh := authorised
	fresh.Session = "telegram:new"
	for name, test := range map[string]struct {
		caller chat.Caller
		list   []string
	}{
		"an owner in a group":   {group, []string{"discord:group:g"}},
		"a stranger in a group": {stranger, []string{"discord:group:g"}},
		"an authorised person":  {authorised, []string{"discord:group:g"}},
		"nobody":                {nobody, []string{"discord:group:g"}},
		"a session without row": {fresh, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turn := sessionsRig(t).Turn("1", test.caller)
			var got struct{ Sessions []struct{ Session string } }
			if err := json.Unmarshal([]byte(use(t, turn, "sessions", `{"action":"list","limit":50}`).text()), &got); err != nil {
				t.Fatal(err)
			}
			var keys []string
			for _, s := range got.Sessions {
				keys = append(keys, s.Session)
			}
			if diff := cmp.Diff(test.list, keys); diff != "" {
				t.Errorf("the list (-want +got):\n%s", diff)
			}
			for _, other := range []string{"telegram:anna", "telegram:bob"} {
				if got := use(t, turn, "sessions", `{"action":"read","session":"`+other+`"}`); !got.IsError || strings.Contains(got.text(), "a new day") {
					t.Errorf("%s is read: %q", other, got.text())
				}
			}
			if got := use(t, turn, "sessions", `{"action":"read"}`); got.IsError != (test.list == nil) {
				t.Errorf("its own is answered %q", got.text())
			}
		})
	}
}

func TestAHistoryIsBounded(t *testing.T) {
	t.Parallel()
	r := sessionsRig(t)
	var long []chat.TranscriptEntry
	for range 200 {
		long = append(long, chat.TranscriptEntry{Role: chat.User, Text: strings.Repeat("é", 5000), At: noon})
	}
	r.history["telegram:anna"] = append(long, chat.TranscriptEntry{Role: chat.Assistant, Text: "the last", At: noon})
	got := use(t, r.Turn("1", anna), "sessions", `{"action":"read","limit":1000000}`)
	if len(got.text()) > 64<<10 || !strings.Contains(got.text(), `"the last"`) || strings.Count(got.text(), "[…]") != 11 {
		t.Errorf("%d bytes, %d messages", len(got.text()), strings.Count(got.text(), "[…]"))
	}
}
