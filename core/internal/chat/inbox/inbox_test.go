package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/chat/activity"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/chat/debounce"
	"github.com/clawhost/clawhost/core/internal/chat/inbox"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/hook"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/core/internal/network/reaction"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/core/internal/notice"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

var now = time.Date(2026, 3, 15, 14, 30, 0, 0, time.UTC)

// journal is a store that notes what it is asked.
type journal struct {
	agents   map[string]string // chosen, by conversation
	accepted []domain.Inbound
	receipts []domain.OutboxItem
	paired   []domain.Pairing
	allowed  []chat.UserID
	retired  []string
	expected []string // sessions whose turns are expected
	lingers  []string // what waits for more
	recent   []domain.Session
	awaited  []domain.Message
	sessions map[string]domain.Session // nil: there is one for each key
	fail     error

	chosen    map[string]domain.Overrides // by session
	passive   []domain.Passive
	answer    domain.Acceptance // what Accept says in addition to its own
	received  []chat.Caller
	heard     shown // what chats were shown at once
	changes   []string
	standing  domain.Standing
	unread    bool            // claude has not read what it was given
	after     domain.Standing // where a message is by the time of its change, which does not happen then; empty: as before
	waiting   domain.Message  // what Find finds
	waitsIn   string          // its session; empty: tg:owner
	amended   []domain.Message
	notices   []domain.OutboxItem
	posted    []string // the keys
	direct    map[string]domain.DirectChat
	questions []domain.Question // that are open
	host      *host             // nil: nothing of the host runs
}

// Expect implements [inbox.Starter].
func (j *journal) Expect(session string, m domain.Message) {
	j.expected, j.awaited = append(j.expected, session), append(j.awaited, m)
}

func (j *journal) Linger(_ context.Context, session, by string, until time.Time) error {
	j.lingers = append(j.lingers, fmt.Sprintf("%s of %s %v", by, session, until.Sub(now)))
	return j.fail
}

func (j *journal) Recent(_ context.Context, since time.Time, limit int) ([]domain.Session, error) {
	if since.Equal(now.Add(-10*time.Minute)) && limit >= len(j.recent) {
		return j.recent, j.fail
	}
	return nil, errors.New("another time was asked for")
}

func (j *journal) Session(_ context.Context, key string) (domain.Session, error) {
	if found, known := j.sessions[key]; known || j.sessions == nil {
		found.Key = key
		return found, j.fail
	}
	return domain.Session{}, domain.ErrNotFound
}

func (j *journal) Overrides(_ context.Context, session string) (domain.Overrides, error) {
	return j.chosen[session], nil
}

func (j *journal) ChosenAgent(_ context.Context, conversation string) (string, error) {
	return j.agents[conversation], nil
}

func (j *journal) DirectChat(_ context.Context, channel, id string) (domain.DirectChat, error) {
	found, known := j.direct[channel+":"+id]
	if !known {
		return domain.DirectChat{}, domain.ErrNotFound
	}
	return found, nil
}

func (j *journal) RecordPassive(_ context.Context, o domain.Passive) (bool, error) {
	if slices.ContainsFunc(j.passive, func(old domain.Passive) bool { return old.EventID == o.EventID }) {
		return true, j.fail
	}
	j.passive = append(j.passive, o)
	return false, j.fail
}

func (j *journal) AgentMessageByToken(_ context.Context, token string) (domain.AgentMessage, error) {
	if token != "t" {
		return domain.AgentMessage{}, domain.ErrNotFound
	}
	return domain.AgentMessage{Session: "tg:owner", Number: 3, Labels: []string{"Yes", "/stop"}}, j.fail
}

func (j *journal) Find(context.Context, string, chat.ID, chat.MessageID) (domain.Found, error) {
	f := domain.Found{Session: "tg:owner", Message: j.waiting, Standing: j.standing, UUID: "u"}
	if j.waitsIn != "" {
		f.Session = j.waitsIn
	}
	if j.standing == domain.StandingSteered {
		f.Run, f.ClaudeSession = 5, "claude"
	}
	return f, j.fail
}

// stands is where a message is after a change; what run 5 was given waits if that has not read it.
func (j *journal) stands(unread int64) domain.Standing {
	switch {
	case j.after != "":
		return j.after
	case j.standing == domain.StandingSteered && unread == 5:
		return domain.StandingWaiting
	default:
		return j.standing
	}
}

// Retire notes a claude session that is not used again.
func (j *journal) Retire(claudeSession string) { j.retired = append(j.retired, claudeSession) }

// Withdraw takes back what claude has not read.
func (j *journal) Withdraw(_ context.Context, claudeSession, message string) bool {
	return j.unread && claudeSession == "claude" && message == "u"
}

func (j *journal) Amend(_ context.Context, m domain.Message, model *string, unread int64) (domain.Standing, error) {
	if j.after == "" {
		j.amended = append(j.amended, m)
	}
	if model != nil {
		j.changes = append(j.changes, "the model is "+*model)
	}
	return j.stands(unread), j.fail
}

func (j *journal) Post(_ context.Context, key domain.Key, items ...domain.OutboxItem) (int64, error) {
	j.posted = append(j.posted, key.String())
	j.notices = append(j.notices, items...)
	return 1, j.fail
}

func (j *journal) WithdrawMessage(_ context.Context, channel string, in chat.ID, id chat.MessageID, unread int64, notice ...domain.OutboxItem) (domain.Standing, error) {
	if j.after == "" {
		j.changes = append(j.changes, fmt.Sprintf("%s/%s/%s is gone", channel, in, id))
		j.notices = append(j.notices, notice...)
	}
	return j.stands(unread), j.fail
}

func (j *journal) Accept(_ context.Context, in domain.Inbound) (domain.Acceptance, error) {
	if j.fail != nil {
		return domain.Acceptance{}, j.fail
	}
	if slices.ContainsFunc(j.accepted, func(old domain.Inbound) bool { return old.EventID == in.EventID }) {
		return domain.Acceptance{Duplicate: true}, nil
	}
	j.accepted = append(j.accepted, in)
	accepted := j.answer
	accepted.Seq, accepted.Waiting = int64(len(j.accepted)), len(j.accepted)-1
	if in.Reset {
		accepted.Replaced = "old"
	}
	return accepted, nil
}

func (j *journal) PostReceipt(_ context.Context, _ string, _ int64, receipt domain.OutboxItem) error {
	j.receipts = append(j.receipts, receipt)
	return nil
}

func (j *journal) Allowed(_ context.Context, _ string, users ...chat.UserID) (bool, error) {
	return slices.ContainsFunc(users, func(u chat.UserID) bool { return slices.Contains(j.allowed, u) }), j.fail
}

// Origin knows that the group g has become that of moved.
func (j *journal) Origin(channel string, id chat.ID) chat.ID {
	if channel == "tg" && id == "moved" {
		return "g"
	}
	return id
}

func (j *journal) Move(_ context.Context, channel string, event chat.EventID, from, to chat.ID) (bool, error) {
	entry := fmt.Sprintf("%s/%s is %s", channel, from, to)
	defer func() { j.changes = append(j.changes, entry) }()
	return slices.Contains(j.changes, entry), j.fail
}

func (j *journal) RequestPairing(_ context.Context, p domain.Pairing, _ int, _ time.Time, prompt domain.OutboxItem) (bool, error) {
	if !strings.Contains(prompt.Text, p.Code) {
		return false, errors.New("the prompt does not tell the code")
	}
	j.paired = append(j.paired, p)
	return true, j.fail
}

// registry has the host's commands, the command /roll of a plugin and the skill deploy.
func registry() *command.Registry {
	found := plugins.New([]*config.Plugin{{Label: "dice", Enabled: true}})
	found.Entry("dice").Publish(&plugins.Plugin{Name: "dice", Description: remote.Description{Commands: []chat.CommandSpec{{Name: "roll"}}}})
	return command.New(nil, nil, command.Host{Plugins: found, Agents: skills{}})
}

type skills struct{ command.Agents }

func (skills) SkillList(string) []agent.Skill {
	return []agent.Skill{{Name: "deploy", Path: "skills/deploy"}}
}

// deploy is the prompt for the skill.
const deploy = `Use the skill "deploy" (skills/deploy): `

func settings(string) config.Settings {
	return config.Settings{
		Session: config.Session{Scope: "per-channel-peer", ResetTriggers: []string{"/new", "/reset"}},
		Inbound: config.Inbound{MaxAge: 24 * time.Hour, Drop: true},
		Queue:   config.Queue{Receipt: true},
		Access: config.Access{
			Owners: []string{"tg:owner"}, DM: "pairing", Allow: []string{"tg:friend"}, CommandsFrom: []string{"tg:commander"},
			Groups: "allowlist", Group: map[string]config.Group{"g": {}}, RequireMention: true,
		},
	}
}

func event(user chat.UserID, body chat.Body) chat.Event {
	return chat.Event{
		ID: "e", Chat: chat.Chat{ID: chat.ID(user), Kind: chat.Direct}, Sender: chat.Sender{ID: user}, At: now.Add(-time.Minute), Body: body,
	}
}

func says(user chat.UserID, text string) chat.Event {
	return event(user, chat.Message{ID: "m", Text: text})
}

func inGroup(id chat.ID, e chat.Event) chat.Event {
	e.Chat = chat.Chat{ID: id, Kind: chat.Group}
	return e
}

// Behaviour: accept-old, command-menu, button, skill-command, new, ask-words.
func TestSubmit(t *testing.T) {
	t.Parallel()
	mentions := chat.Message{ID: "m", Text: "@bot /status now", MentionsSelf: true, Mentions: []chat.Mention{{Offset: 0, Length: 4, IsSelf: true}}}
	old := says("owner", "hello")
	old.At = now.Add(-25 * time.Hour)
	for name, test := range map[string]struct {
		event     chat.Event
		verdict   chat.Verdict
		session   string
		lane      domain.Lane
		command   *domain.Command
		text      string
		fresh     bool
		reset     bool
		authority chat.Authority
	}{
		"an owner":                       {event: says("owner", " hello\n"), verdict: chat.Accepted, session: "tg:owner", lane: domain.TurnLane, text: "hello", authority: chat.Owner},
		"a listed person":                {event: says("friend", "hello"), verdict: chat.Accepted, session: "tg:friend", lane: domain.TurnLane, text: "hello", authority: chat.Other},
		"a stranger":                     {event: says("stranger", "hello"), verdict: chat.Rejected},
		"a group that is not listed":     {event: inGroup("h", says("owner", "hello")), verdict: chat.Rejected},
		"a command behind a mention":     {event: inGroup("g", event("owner", mentions)), verdict: chat.Accepted, session: "tg:group:g", lane: domain.ControlLane, command: &domain.Command{Name: "status", Args: "now"}, text: "/status now", authority: chat.Owner},
		"a command":                      {event: says("owner", "/stop"), verdict: chat.Accepted, session: "tg:owner", lane: domain.ControlLane, command: &domain.Command{Name: "stop"}, text: "/stop", authority: chat.Owner},
		"a command not allowed is asked": {event: says("friend", "/stop"), verdict: chat.Accepted, session: "tg:friend", lane: domain.ControlLane, command: &domain.Command{Name: "stop"}, text: "/stop", authority: chat.Other},
		"the CLI's own command is text":  {event: says("owner", "/clear"), verdict: chat.Accepted, session: "tg:owner", lane: domain.TurnLane, text: "/clear", authority: chat.Owner},
		"a path is text":                 {event: says("owner", "/etc/passwd"), verdict: chat.Accepted, session: "tg:owner", lane: domain.TurnLane, text: "/etc/passwd", authority: chat.Owner},
		"a reset alone":                  {event: says("owner", "/NEW"), verdict: chat.Accepted, session: "tg:owner", lane: domain.ControlLane, command: &domain.Command{Name: "new"}, text: "/NEW", reset: true, authority: chat.Owner},
		"a reset from a menu":            {event: event("owner", chat.NativeCommand{Name: "reset"}), verdict: chat.Accepted, session: "tg:owner", lane: domain.ControlLane, command: &domain.Command{Name: "new"}, text: "/reset", reset: true, authority: chat.Owner},
		"a reset alone not allowed":      {event: event("friend", chat.NativeCommand{Name: "reset"}), verdict: chat.Accepted, session: "tg:friend", lane: domain.ControlLane, command: &domain.Command{Name: "reset"}, text: "/reset", authority: chat.Other},
		"a plugin's command":             {event: says("owner", "/roll 2d6"), verdict: chat.Accepted, session: "tg:owner", lane: domain.CommandLane, command: &domain.Command{Name: "roll", Args: "2d6"}, text: "/roll 2d6", authority: chat.Owner},
		"a reset with text":              {event: says("owner", "/new  tell me"), verdict: chat.Accepted, session: "tg:owner", lane: domain.TurnLane, text: "tell me", fresh: true, authority: chat.Owner},
		"a reset from a menu with text":  {event: event("owner", chat.NativeCommand{Name: "New", Args: "tell me"}), verdict: chat.Accepted, session: "tg:owner", lane: domain.TurnLane, text: "tell me", fresh: true, authority: chat.Owner},
		"a reset that is a longer word":  {event: says("owner", "/newest"), verdict: chat.Accepted, session: "tg:owner", lane: domain.TurnLane, text: "/newest", authority: chat.Owner},
		"a reset with text not allowed":  {event: says("friend", "/new tell me"), verdict: chat.Accepted, session: "tg:friend", lane: domain.ControlLane, command: &domain.Command{Name: "new", Args: "tell me"}, text: "/new tell me", authority: chat.Other},
		"a reset with a model":           {event: says("owner", "/new opus"), verdict: chat.Accepted, session: "tg:owner", lane: domain.ControlLane, command: &domain.Command{Name: "new"}, text: "/new opus", reset: true, authority: chat.Owner},
		"a word that means stop":         {event: says("owner", "stop!"), verdict: chat.Accepted, session: "tg:owner", lane: domain.ControlLane, command: &domain.Command{Name: "stop"}, text: "stop!", authority: chat.Owner},
		"one not allowed is text":        {event: says("friend", "stop!"), verdict: chat.Accepted, session: "tg:friend", lane: domain.TurnLane, text: "stop!", authority: chat.Other},
		"a directive and a text":         {event: says("owner", "/think high about it"), verdict: chat.Accepted, session: "tg:owner", lane: domain.TurnLane, text: "about it", authority: chat.Owner},
		"a directive not allowed":        {event: says("friend", "/think high about it"), verdict: chat.Accepted, session: "tg:friend", lane: domain.TurnLane, text: "/think high about it", authority: chat.Other},
		"directives alone":               {event: says("owner", "/think low"), verdict: chat.Accepted, session: "tg:owner", lane: domain.ControlLane, command: &domain.Command{Name: "think", Args: "low"}, text: "/think low", authority: chat.Owner},
		"a skill from a menu":            {event: event("owner", chat.NativeCommand{Name: "deploy", Args: "it"}), verdict: chat.Accepted, session: "tg:owner", lane: domain.TurnLane, text: deploy + "it", authority: chat.Owner},
		"a command no one has any more":  {event: event("owner", chat.NativeCommand{Name: "gone", Args: "now"}), verdict: chat.Accepted, session: "tg:owner", lane: domain.CommandLane, command: &domain.Command{Name: "gone", Args: "now"}, text: "/gone now", authority: chat.Owner},
		"a directive beside a file":      {event: event("owner", chat.Message{Text: "/think high", Media: []chat.Media{{Kind: chat.Image}}}), verdict: chat.Accepted, session: "tg:owner", lane: domain.TurnLane, text: "", authority: chat.Owner},
		"a reset and a directive":        {event: says("owner", "/new /think high why"), verdict: chat.Accepted, session: "tg:owner", lane: domain.TurnLane, text: "why", fresh: true, authority: chat.Owner},
		"a reset and directives alone":   {event: says("owner", "/new /think low"), verdict: chat.Accepted, session: "tg:owner", lane: domain.ControlLane, command: &domain.Command{Name: "think", Args: "low"}, text: "/new /think low", reset: true, authority: chat.Owner},
		"a skill":                        {event: says("owner", "/deploy it"), verdict: chat.Accepted, session: "tg:owner", lane: domain.TurnLane, text: deploy + "it", authority: chat.Owner},
		"a directive and a skill":        {event: says("owner", "/think high /deploy it"), verdict: chat.Accepted, session: "tg:owner", lane: domain.TurnLane, text: deploy + "it", authority: chat.Owner},
		"an answer by a number":          {event: says("owner", "2"), verdict: chat.Accepted, session: "tg:owner", lane: domain.ControlLane, command: &domain.Command{Name: "answer", Args: "ABCDE 2", Plain: true}, text: "2", authority: chat.Owner},
		"a press on a button":            {event: event("owner", chat.ButtonPress{MessageID: "m", Data: "/stop"}), verdict: chat.Accepted, session: "tg:owner", lane: domain.ControlLane, command: &domain.Command{Name: "stop"}, text: "/stop", authority: chat.Owner},
		"a button of another's":          {event: event("owner", chat.ButtonPress{MessageID: "m", Data: "rm -rf /"}), verdict: chat.Rejected},
		"a button with a message":        {event: event("owner", chat.ButtonPress{MessageID: "m", Data: "/new do it"}), verdict: chat.Rejected},
		"a stop button":                  {event: event("owner", chat.StopRequest{}), verdict: chat.Accepted, session: "tg:owner", lane: domain.ControlLane, command: &domain.Command{Name: "stop"}, text: "/stop", authority: chat.Owner},
		"too old":                        {event: old, verdict: chat.Rejected},
		"an empty message":               {event: says("owner", "  "), verdict: chat.Rejected},
		"a reaction":                     {event: event("owner", chat.Reaction{MessageID: "m", Emoji: "👍"}), verdict: chat.Rejected},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &journal{questions: []domain.Question{numbered}}
			outcome, err := boxOf(j, waiting).Submit(t.Context(), "tg", test.event)
			if err != nil {
				t.Fatal(err)
			}
			if outcome.Verdict != test.verdict || outcome.Session != test.session {
				t.Errorf("%v %q (%s), want %v %q", outcome.Verdict, outcome.Session, outcome.Reason, test.verdict, test.session)
			}
			if test.verdict == chat.Rejected {
				if len(j.accepted) != 0 || len(j.expected) != 0 || outcome.Reason == "" {
					t.Errorf("accepted %v, reason %q, turns are expected in %q", j.accepted, outcome.Reason, j.expected)
				}
				return
			}
			in := j.accepted[0]
			got := []any{in.Lane, in.Message.Command, in.Message.Text, in.Message.Fresh, in.Reset, in.Message.Authority}
			if diff := cmp.Diff([]any{test.lane, test.command, test.text, test.fresh, test.reset, test.authority}, got); diff != "" {
				t.Error(diff)
			}
			if test.reset != slices.Equal(j.retired, []string{"old"}) {
				t.Errorf("retired %v", j.retired)
			}
			// A turn whose conversation begins only with it has no process before, and one that begins at once needs none.
			if begins := test.reset || test.lane == domain.TurnLane && !test.fresh && !in.Burst.Now; begins != slices.Equal(j.expected, []string{test.session}) {
				t.Errorf("a turn is expected in %q", j.expected)
			}
		})
	}
}

// A person who sends only unavailable files learns why. Claude learns of it later, because there is nothing to answer.
// Behaviour: file-accept.
func TestUnavailableFiles(t *testing.T) {
	t.Parallel()
	large := chat.Media{Kind: chat.Video, FileName: "my `film`.mp4", Problem: "is larger than 20 MB"}
	odd := chat.Media{Kind: chat.File, Problem: "is of a type that is not accepted here: application/x-odd"}
	for name, test := range map[string]struct {
		message chat.Message
		notice  string // "": it is answered
		kept    string
	}{
		"one":                     {chat.Message{ID: "m", Media: []chat.Media{large}}, "I could not take what you sent: `my 'film'.mp4` is larger than 20 MB.", "A file was sent here that could not be had: the video is larger than 20 MB."},
		"two":                     {chat.Message{ID: "m", Media: []chat.Media{large, odd}}, "I could not take what you sent: `my 'film'.mp4` is larger than 20 MB; the file is of a type that is not accepted here: application/x-odd.", "A file was sent here that could not be had: the video is larger than 20 MB; the file is of a type that is not accepted here: application/x-odd."},
		"one with a text":         {message: chat.Message{ID: "m", Text: "look", Media: []chat.Media{large}}},
		"one that could, beside":  {message: chat.Message{ID: "m", Media: []chat.Media{large, {Ref: "r", Kind: chat.Image}}}},
		"one for unknown reasons": {message: chat.Message{ID: "m", Media: []chat.Media{{Kind: chat.Image}}}},
		"one that is there":       {message: chat.Message{ID: "m", Media: []chat.Media{{Ref: "r", Kind: chat.Image, Problem: "is odd"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &journal{}
			if verdict := submit(t, j, settings, event("owner", test.message)); verdict != chat.Accepted {
				t.Fatal(verdict)
			}
			if test.notice == "" {
				if len(j.accepted) != 1 || len(j.notices) != 0 {
					t.Errorf("accepted %+v, got %+v", j.accepted, j.notices)
				}
				return
			}
			if len(j.accepted) != 0 || len(j.notices) != 1 || j.notices[0].Text != test.notice || j.notices[0].ReplyTo != "m" || j.notices[0].To.Chat != "owner" {
				t.Errorf("accepted %+v, got %+v", j.accepted, j.notices)
			}
			if len(j.passive) != 1 || j.passive[0].Note.Text != test.kept || j.passive[0].Note.Kind != domain.NoteEvent {
				t.Errorf("kept %+v", j.passive)
			}
		})
	}
}

func box(j *journal) *inbox.Inbox {
	return boxOf(j, settings)
}

// waiting is settings where a message waits for more.
func waiting(channel string) config.Settings {
	s := settings(channel)
	s.Inbound.Debounce = 300 * time.Millisecond
	return s
}

func boxOf(j *journal, settings func(string) config.Settings) *inbox.Inbox {
	return boxAt(j, settings, func() time.Time { return now })
}

// boxAt is boxOf at a time of its own.
func boxAt(j *journal, settings func(string) config.Settings, clock func() time.Time) *inbox.Inbox {
	log := hclog.NewNullLogger()
	c := &config.Config{
		Settings: settings("tg"), Send: config.Send{Default: "allow", Rules: []config.SendRule{{Chat: "channel", Policy: "deny"}}},
		Agent: config.Agent{Label: session.MainAgent}, Agents: []*config.Agent{{Label: "server", OpenTo: config.OpenToOwners}},
	}
	h := j.host
	if h == nil {
		h = newHost(plugintest.Channels(map[string]chat.Limits{"tg": limits}), nil)
	}
	conversations := conversation.NewResolver(c, h.plugins, j)
	return inbox.New(inbox.NewIntake(j, j, conversations, clock, log), inbox.Options{
		Commands: registry(), Observers: h.observers, Reactions: h.reactor, Chats: h.chats, Early: j, Debounce: debounce.New(), Turns: h.turns, Zone: time.UTC,
		Questions: permission.New(permission.Options{Store: questions{journal: j}, Conversations: conversations}, log),
		Owners:    notice.NewOwners(h.store, conversation.NewResolver(&config.Config{Settings: config.Settings{Access: config.Access{Owners: h.owners}}}, h.plugins, j), h.plugins, log),
	})
}

// limits are those of the channel tg.
var limits = chat.Limits{Buttons: chat.ButtonLimits{Rows: 1, Columns: 2}, Replies: true, TypingTTL: time.Second}

// host is what learns of messages.
type host struct {
	store     *store.Store
	owners    []string // who get notices
	plugins   *plugins.Registry
	turns     *dispatch.Dispatcher
	observers *hook.Observers
	reactor   *reaction.Reactor
	chats     *activity.Chats
}

func newHost(r *plugins.Registry, s *store.Store) *host {
	log := hclog.NewNullLogger()
	return &host{
		store: s, plugins: r, turns: dispatch.New(s, dispatch.Options{Turns: 1, Commands: 1, Grace: time.Second}, log),
		observers: hook.NewObservers(r, log), reactor: reaction.New(s, r, log), chats: activity.NewChats(r, s),
	}
}

// run runs the host of a journal, in a bubble, with the channel tg and an observer. The run 1 of the session tg:owner runs.
func (j *journal) run(t *testing.T) {
	t.Helper()
	s := storetest.Open(t)
	r := plugintest.Registry("tg")
	plugintest.Run(t, r, "tg", plugintest.Channel(limits, &network{journal: j}), sdk.OnMessage(func(_ context.Context, m sdk.MessageReceived) error {
		j.received = append(j.received, m.Caller)
		return nil
	}))
	j.host = newHost(r, s)
	storetest.Accept(t, s, domain.Inbound{EventID: "first", Session: "tg:owner", Lane: domain.TurnLane, MaxWaiting: 1, Message: domain.Message{Channel: "tg", Text: "hi"}})
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { j.host.turns.Run(ctx, j) })
	work.Go(func() { j.host.observers.Run(ctx) })
	work.Go(func() { j.host.reactor.Run(ctx) })
	t.Cleanup(func() { cancel(); work.Wait() })
	synctest.Wait()
}

// Handle works until the end of the host.
func (j *journal) Handle(ctx context.Context, _ *domain.Run, _ <-chan struct{}) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// shown is what chats were shown, by calls that are side by side.
type shown struct {
	mu    sync.Mutex
	texts []string
}

func (s *shown) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts = append(s.texts, text)
}

// sorted returns the texts in order.
func (s *shown) sorted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.texts))
}

// network notes what it shows at once.
type network struct {
	plugintest.Idle

	journal *journal
}

func (n *network) React(_ context.Context, to chat.Address, id chat.MessageID, emoji string) error {
	n.journal.heard.add(fmt.Sprint(emoji, " on ", id, " in ", to.Chat))
	return nil
}

func (n *network) Typing(_ context.Context, to chat.Address, _ bool) error {
	n.journal.heard.add(fmt.Sprint("typing in ", to.Chat))
	return nil
}

// questions are a journal's, as the store has them.
type questions struct {
	permission.Store
	journal *journal
}

func (q questions) OpenQuestions(context.Context, chat.Address, chat.ID, string) ([]domain.Question, error) {
	return q.journal.questions, nil
}

// numbered is a question in the owner's chat that a number answers.
var numbered = domain.Question{
	ID: "ABCDE", Session: "tg:owner", State: domain.QuestionOpen,
	Messages: []domain.QuestionMessage{{To: chat.Address{Channel: "tg", Chat: "owner"}, Numbered: true}},
	Body:     []byte(`{"about": "tool", "tool": "Bash"}`),
}

func TestAStrangerIsAskedToPairAndLetInOnceAllowed(t *testing.T) {
	t.Parallel()
	j := &journal{host: newHost(plugintest.Channels(map[string]chat.Limits{"tg": limits}), storetest.Open(t))}
	j.host.owners = []string{"tg:owner"}
	if outcome, err := box(j).Submit(t.Context(), "tg", says("stranger", "hello")); err != nil || outcome.Verdict != chat.Rejected {
		t.Fatal(outcome, err)
	}
	if diff := cmp.Diff([]domain.OutboxItem{{To: chat.Address{Channel: "tg", Chat: "owner"}, Text: wording.StrangerAsks("tg")}}, storetest.Sent(t, j.host.store, "tg")); diff != "" {
		t.Errorf("what the owners are told: %s", diff)
	}
	if len(j.paired) != 1 || j.paired[0].User != "stranger" || !j.paired[0].ExpiresAt.After(now) {
		t.Errorf("paired %+v", j.paired)
	}
	j.allowed = []chat.UserID{"stranger"}
	if outcome, err := box(j).Submit(t.Context(), "tg", says("stranger", "hello")); err != nil || outcome.Verdict != chat.Accepted {
		t.Error(outcome, err)
	}
}

func TestDuplicate(t *testing.T) {
	t.Parallel()
	j := &journal{}
	b := boxOf(j, waiting)
	for _, want := range []chat.Verdict{chat.Accepted, chat.Duplicate} {
		if outcome, err := b.Submit(t.Context(), "tg", says("owner", "hello")); err != nil || outcome.Verdict != want {
			t.Errorf("%+v, %v, want %v", outcome, err, want)
		}
	}
	if len(j.expected) != 1 {
		t.Errorf("turns are expected in %q, of one message", j.expected)
	}
}

// Nothing is started before the turn of a message that waits for no more: it begins at once.
func TestNoStartBesideNoWait(t *testing.T) {
	t.Parallel()
	j := &journal{}
	if outcome, err := box(j).Submit(t.Context(), "tg", says("owner", "hello")); err != nil || outcome.Verdict != chat.Accepted {
		t.Fatal(outcome, err)
	}
	if len(j.expected) > 0 {
		t.Errorf("turns are expected in %q", j.expected)
	}
}

// What was given up is taken once more, and begins no conversation a second time.
// Behaviour: given-up.
func TestRepeat(t *testing.T) {
	t.Parallel()
	m := domain.Message{Channel: "tg", Text: "tell me", Fresh: true}
	for n, mode := range map[int]domain.Mode{1: domain.Queue, 2: domain.Collect} {
		j := &journal{}
		for range 2 { // the second time they are duplicates
			if err := box(j).Repeat(t.Context(), domain.KeyResume.Of("again"), "tg:owner", slices.Repeat([]domain.Message{m}, n)); err != nil {
				t.Fatal(err)
			}
		}
		if len(j.accepted) != n {
			t.Fatalf("%d messages were taken %d times", n, len(j.accepted))
		}
		for _, got := range j.accepted {
			if got.Message.Fresh || got.Message.Text != m.Text || got.Queue.Mode != mode || got.Lane != domain.TurnLane {
				t.Errorf("%+v", got)
			}
		}
	}
}

// Behaviour: accept-full.
func TestAStoreThatFailsIsNoVerdict(t *testing.T) {
	t.Parallel()
	b := box(&journal{fail: errors.New("disk full")})
	for _, user := range []chat.UserID{"owner", "stranger"} {
		if outcome, err := b.Submit(t.Context(), "tg", says(user, "hello")); err == nil {
			t.Errorf("%s: %+v without an error", user, outcome)
		}
	}
	full := box(&journal{fail: domain.ErrLaneFull})
	if outcome, err := full.Submit(t.Context(), "tg", says("owner", "hello")); err != nil || outcome.Verdict != chat.Rejected {
		t.Errorf("a full lane: %+v, %v", outcome, err)
	}
}

// However many messages of others wait, an owner's message and command are accepted, and so is a permitted stop. That
// goes before other commands.
// Behaviour: stop-first.
func TestOthersCannotFillTheQueueForOwnersAndStops(t *testing.T) {
	t.Parallel()
	type limits struct {
		MaxWaiting int
		Urgent     bool
	}
	for text, want := range map[string]map[chat.UserID]limits{
		"hello":   {"friend": {1000, false}, "commander": {1000, false}, "owner": {1100, false}},
		"/status": {"friend": {1000, false}, "commander": {1000, false}, "owner": {1100, false}},
		"/roll":   {"friend": {1000, false}, "commander": {1000, false}, "owner": {1100, false}},
		"/stop":   {"friend": {1000, false}, "commander": {1050, true}, "owner": {1100, true}},
	} {
		for user, want := range want {
			j := &journal{allowed: []chat.UserID{"commander"}}
			if outcome, err := box(j).Submit(t.Context(), "tg", says(user, text)); err != nil || outcome.Verdict != chat.Accepted {
				t.Fatalf("%q of %s: %+v, %v", text, user, outcome, err)
			}
			if got := (limits{j.accepted[0].MaxWaiting, j.accepted[0].Urgent}); got != want {
				t.Errorf("%q of %s: %+v, want %+v", text, user, got, want)
			}
		}
	}
}
