package tools_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

func sessionsRig(t *testing.T) *rig {
	r := newRig(t)
	r.sessions = []domain.Session{
		{Key: "discord:group:listed", Kind: chat.Group, Title: "Family", Route: address("discord", "listed"), InteractedAt: noon, Label: "chores"},
		{Key: "telegram:anna", Kind: chat.Direct, Route: address("telegram", "anna"), InteractedAt: noon.Add(-time.Hour), Model: "sonnet"},
		{Key: "telegram:bob", Kind: chat.Direct, CreatedAt: noon.Add(time.Hour)},
	}
	r.history["discord:group:listed"] = []chat.TranscriptEntry{
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
		`{"action":"list"}`: `{"agent":"main","of":3,"sessions":[` +
			`{"session":"telegram:bob","kind":"direct","last_message":"2026-03-03 13:00 UTC","somebody_elses":true},` +
			`{"session":"discord:group:listed","label":"chores","title":"Family","kind":"group","chat":"discord:listed","last_message":"2026-03-03 12:00 UTC"},` +
			`{"session":"telegram:anna","kind":"direct","chat":"telegram:anna","last_message":"2026-03-03 11:00 UTC","model":"sonnet","this_conversation":true}]}`,
		`{"action":"list","limit":1}`:                                   `{"agent":"main","of":3,"sessions":[{"session":"telegram:bob","kind":"direct","last_message":"2026-03-03 13:00 UTC","somebody_elses":true}]}`,
		`{"action":"read","session":"discord:group:listed","limit":-5}`: `{"messages":[{"at":"2026-03-03 12:01 UTC","role":"assistant","text":"Bob \"does\"\n<now>"}],"session":"discord:group:listed"}`,
		`{"action":"read","session":"chores"}`: `{"messages":[{"at":"2026-03-03 12:00 UTC","role":"user","text":"who cooks?"},` +
			`{"at":"2026-03-03 12:01 UTC","role":"assistant","text":"Bob \"does\"\n<now>"}],"session":"discord:group:listed"}`,
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
	group := chat.Caller{Session: "discord:group:listed", Address: address("discord", "listed"), Kind: chat.Group, Authority: chat.Owner}
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
		"an owner in a group":   {group, []string{"discord:group:listed"}},
		"a stranger in a group": {stranger, []string{"discord:group:listed"}},
		"an authorised person":  {authorised, []string{"discord:group:listed"}},
		"nobody":                {nobody, []string{"discord:group:listed"}},
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

// A label names a session only where it can mean no other one, and never another person's: anyone who may use commands may choose
// the label of their own chat.
// Behaviour: sessions-name.
func TestALabelDoesNotPassForAnother(t *testing.T) {
	t.Parallel()
	const own, others, group, hidden = "telegram:anna", "telegram:bob", "discord:group:listed", "discord:group:other"
	for _, test := range []struct {
		name, typed string
		labels      map[string]string
		want        string   // the session; empty: none
		choices     []string // of the refusal
	}{
		{"the only one", "work", map[string]string{group: "work"}, group, nil},
		{"in another case", "WORK", map[string]string{group: "Work"}, group, nil},
		{"a key before a label", group, map[string]string{others: group, own: "x"}, group, nil},
		{"the same label of another person's", "work", map[string]string{group: "work", others: "work"}, "", []string{group, others}},
		{"of somebody else's alone", "work", map[string]string{others: "work"}, "", []string{others + ` (label "work", somebody else's)`}},
		{"of a group that owners do not write in", "work", map[string]string{hidden: "work"}, "", []string{hidden}},
		{"in look-alike letters", "work", map[string]string{group: "work", others: "wоrk"}, "", []string{group, others}},
		{"in another case and width", "work", map[string]string{group: "work", others: "ＷＯＲＫ"}, "", []string{group, others}},
		{"with accents and invisible characters", "work", map[string]string{group: "work", others: "wör\u2060k"}, "", []string{group, others}},
		{"with other spaces", "my work", map[string]string{group: "my work", others: "my\u00a0work "}, "", []string{group, others}},
		{"two of the same owner", "work", map[string]string{group: "work", own: "Work"}, "", []string{group, own}},
		{"another one that looks like it", "wоrk", map[string]string{group: "work"}, "", []string{group}},
		{"other words of the same script", "가족", map[string]string{group: "가족", others: "공장"}, group, nil},
		{"a key that there is not", "telegram:carl", map[string]string{others: "telegram:carl"}, "", []string{others}},
		{"nothing", "", map[string]string{}, "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			for _, key := range []string{others, own, group, hidden} {
				one := domain.Session{Key: key, Kind: chat.Group, Route: address("discord", chat.ID(strings.TrimPrefix(key, "discord:group:"))), Label: test.labels[key]}
				if network, who, _ := strings.Cut(key, ":"); network == "telegram" {
					one.Kind, one.Route, one.Peer = chat.Direct, address("telegram", chat.ID(who)), []chat.UserID{chat.UserID(who)}
				}
				r.sessions = append(r.sessions, one)
				r.history[key] = []chat.TranscriptEntry{{ID: 1, Role: chat.User, Text: "in " + key, At: noon}}
			}
			from := anna
			from.Session, from.Sender = "telegram:elsewhere", chat.Sender{ID: "anna"}
			turn := r.Turn("1", from)
			for _, action := range []string{"read", "send"} {
				arguments, err := json.Marshal(map[string]string{"action": action, "session": test.typed, "text": map[string]string{"send": "hello"}[action]})
				if err != nil {
					t.Fatal(err)
				}
				got := use(t, turn, "sessions", string(arguments))
				if test.typed == "" && action == "read" {
					continue // this conversation
				}
				if got.IsError != (test.want == "") {
					t.Fatalf("%s is answered %q", action, got.text())
				}
				for _, key := range []string{others, own, group, hidden} {
					if strings.Contains(got.text(), "in "+key) && key != test.want {
						t.Errorf("%s is read: %s", key, got.text())
					}
				}
				for _, choice := range test.choices {
					if !strings.Contains(got.text(), choice) {
						t.Errorf("%s does not offer %s: %s", action, choice, got.text())
					}
				}
			}
			if want := test.want != ""; len(r.acts) > 0 != want || want && !strings.HasPrefix(r.acts[0], test.want+" ") {
				t.Errorf("sent: %q", r.acts)
			}
		})
	}
}

// Others cannot find out by labels which sessions there are.
// Behaviour: sessions-name.
func TestLabelsThatAreNotSeen(t *testing.T) {
	t.Parallel()
	r := sessionsRig(t)
	bob := chat.Caller{Session: "telegram:bob", Address: address("telegram", "bob"), Kind: chat.Direct, Authority: chat.Authorised}
	got := use(t, r.Turn("1", bob), "sessions", `{"action":"read","session":"chores"}`)
	none := use(t, r.Turn("1", bob), "sessions", `{"action":"read","session":"nothing"}`)
	if !got.IsError || strings.ReplaceAll(got.text(), "chores", "nothing") != none.text() {
		t.Errorf("answered %q and %q", got.text(), none.text())
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
