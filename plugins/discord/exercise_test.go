package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clawhost/clawhost/plugins/discord/discordtest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// ledger is a host's state that outlives the plugin, as a real host's does.
type ledger struct {
	mu      sync.Mutex
	values  map[string]string
	refused string // keys with this prefix are not taken
}

func newLedger() *ledger { return &ledger{values: map[string]string{}} }

func (l *ledger) Get(_ context.Context, key string) ([]byte, uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	value, ok := l.values[key]
	if !ok {
		return nil, 0, sdk.ErrNotFound
	}
	return []byte(value), 1, nil
}

func (l *ledger) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused != "" && strings.HasPrefix(key, l.refused) {
		return 0, errBroken
	}
	l.values[key] = string(value)
	return 1, ctx.Err()
}

func (l *ledger) PutIf(ctx context.Context, key string, value []byte, _ uint64) (uint64, error) {
	return l.Put(ctx, key, value)
}

func (l *ledger) Delete(_ context.Context, key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.values, key)
	return nil
}

func (l *ledger) List(_ context.Context, prefix, after string) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(l.values)) {
		if strings.HasPrefix(key, prefix) && key > after {
			keys = append(keys, key)
		}
	}
	return keys[:min(len(keys), 3)], nil // Fewer than a host gives, to have them asked for in parts.
}

func (l *ledger) refuse(prefix string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = prefix
}

// passed is the last message of a channel that the plugin will not ask for again.
func (l *ledger) passed(channel string) snowflake {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, _, _ := strings.Cut(l.values[cursorPrefix+channel], " ")
	return parseID(last)
}

// ledgers has each server's, by its address.
type ledgers struct{ byURL sync.Map }

func (l *ledgers) of(url string) *ledger {
	found, _ := l.byURL.LoadOrStore(url, newLedger())
	return found.(*ledger)
}

func testPace() pace {
	return pace{
		first: 5 * time.Millisecond, longest: 50 * time.Millisecond, sound: 50 * time.Millisecond, identify: 10 * time.Millisecond,
		save: 10 * time.Millisecond, acknowledge: 5 * time.Second,
	}
}

// component is the channel at a test's pace, with state that outlives it.
func component(states *ledgers) sdk.Component { return componentAt(states, testPace()) }

func componentAt(states *ledgers, at pace) sdk.Component {
	return sdk.NewChannel((*channel)(nil).Limits(0), func(ctx context.Context, env sdk.Env, cfg config) (*channel, error) {
		c, err := open(ctx, env, cfg)
		if err != nil {
			return nil, err
		}
		c.pace = at
		c.env.State = states.of(cfg.TestEndpoint)
		return c, nil
	})
}

// fakeNetwork is a loopback Discord as the conformance suite sees it.
type fakeNetwork struct {
	server *discordtest.Server
	state  *ledger
	said   chan [2]string

	mu  sync.Mutex
	ids map[string][2]string // channel and message by text
}

// Deliver has people wait until the bot has been there once: Discord has nothing for a bot from before.
func (n *fakeNetwork) Deliver(to chat.ID, text string) { n.said <- [2]string{string(to), text} }

func (n *fakeNetwork) speak(ctx context.Context) {
	select {
	case <-n.server.First():
	case <-ctx.Done():
	}
	for {
		select {
		case say := <-n.said:
			n.mu.Lock()
			n.ids[say[1]] = [2]string{say[0], n.server.Say(say[0], "1"+say[0], say[1])}
			n.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

func (n *fakeNetwork) Acknowledged(text string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, said := n.ids[text]
	return said && n.state.passed(at[0]) >= parseID(at[1])
}

func (n *fakeNetwork) Sent(to chat.ID) []string {
	var texts []string
	for _, m := range n.server.Replies(string(to)) {
		texts = append(texts, m.Text)
	}
	return texts
}

func (n *fakeNetwork) Polls(to chat.ID) []chat.Poll {
	var polls []chat.Poll
	for _, m := range n.server.Replies(string(to)) {
		if p := m.Poll; p != nil {
			polls = append(polls, chat.Poll{Question: p.Question, Options: p.Answers, Multiple: p.Multiple})
		}
	}
	return polls
}

func (n *fakeNetwork) Menu() []string {
	var names []string
	for _, c := range n.server.Commands() {
		names = append(names, c.Name)
	}
	return names
}

func (n *fakeNetwork) Refuse(to chat.ID) chat.Reason {
	n.server.Forbid(string(to))
	return chat.Forbidden
}

func (n *fakeNetwork) Leave() { n.server.Down() }

func (n *fakeNetwork) Return() { n.server.Up() }

func (n *fakeNetwork) Remove(_ chat.ID, id chat.MessageID) { n.server.Remove(string(id)) }

func (n *fakeNetwork) Press(to chat.ID, id chat.MessageID, label string) {
	for _, b := range n.server.Get(string(id)).Buttons {
		if b.Label == label {
			n.server.Press(string(id), "1"+string(to), b.Data)
			return
		}
	}
	panic("no such button")
}

func (n *fakeNetwork) React(to chat.ID, id chat.MessageID, emoji string) {
	n.server.React(string(id), "1"+string(to), cmp.Or(emoji, "👍"), emoji != "")
}

func (n *fakeNetwork) Attach(to chat.ID, caption string, f sdktest.File) {
	id := n.server.Say(string(to), "1"+string(to), caption, discordtest.WithFile(f.Name, f.MIMEType, f.Content))
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ids[caption] = [2]string{string(to), id}
}

func (n *fakeNetwork) Answer(to chat.ID, answered, text string, asked bool) {
	of := n.idOf(answered)
	for _, m := range n.server.Replies(string(to)) {
		if m.Text == answered {
			of = m.ID
		}
	}
	if asked {
		text = "<@" + discordtest.BotID + "> " + text
	}
	n.server.Say(string(to), "1"+string(to), text, discordtest.ReplyingTo(of))
}

func (n *fakeNetwork) Files(to chat.ID) []string {
	var files []string
	for _, m := range n.server.Replies(string(to)) {
		for _, f := range m.Files {
			files = append(files, string(f.Content))
		}
	}
	return files
}

func (n *fakeNetwork) Typed(to chat.ID) bool { return n.server.Typings(string(to)) > 0 }

func (n *fakeNetwork) Type(in chat.ID) { n.server.Type(string(in), "1"+string(in)) }

func (n *fakeNetwork) Mark(_ chat.ID, id chat.MessageID) string {
	return strings.Join(n.server.Get(string(id)).Reactions, "")
}

func (n *fakeNetwork) idOf(text string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ids[text][1]
}

func (n *fakeNetwork) Revise(_ chat.ID, text, changed string) { n.server.Change(n.idOf(text), changed) }

func (n *fakeNetwork) Retract(_ chat.ID, text string) { n.server.Remove(n.idOf(text)) }

func (n *fakeNetwork) Group() chat.ID { return "901" }

func (n *fakeNetwork) Members() ([]chat.UserID, bool) {
	n.server.User("77", "zoe")
	return []chat.UserID{"77", discordtest.BotID}, false
}

func (n *fakeNetwork) Mention(text string) { n.Deliver("901", "<@"+discordtest.BotID+"> "+text) }

func (n *fakeNetwork) Thread() (chat.ID, chat.ThreadID) { return "901", "950" }

func (n *fakeNetwork) DeliverThread(text string) { n.Deliver("950", text) }

func (n *fakeNetwork) SentThread() []string { return n.Sent("950") }

func (n *fakeNetwork) Revoke() {
	const authenticationFailed = 4004
	n.server.RefuseWith(authenticationFailed)
	n.server.Close(authenticationFailed)
}

func (n *fakeNetwork) Cut(chat.ID) { n.server.Fail("POST", "/messages", 1, discordtest.CutAfter()) }

func (n *fakeNetwork) Fail(_ chat.ID, reason chat.Reason) bool {
	// What stands before Discord could say the token back.
	fault, ok := map[chat.Reason]discordtest.Fault{
		chat.Temporary:     discordtest.Refuse(500, 0, "broken by "+n.server.Token()),
		chat.RateLimited:   discordtest.TooManyRequests(7 * time.Second),
		chat.NotConnected:  discordtest.Refuse(401, 0, "401: Unauthorized "+n.server.Token()),
		chat.ChatNotFound:  discordtest.Refuse(404, 10003, "Unknown Channel"),
		chat.Forbidden:     discordtest.Refuse(403, 50013, "Missing Permissions"),
		chat.TooLong:       discordtest.Refuse(413, 40005, "Request entity too large"), // of a text, and of a file:
		chat.MediaRejected: discordtest.Refuse(413, 40005, "Request entity too large"),
		chat.TargetGone:    discordtest.Refuse(404, 10008, "Unknown Message"),
		chat.Invalid:       discordtest.Refuse(400, 50035, "Invalid Form Body "+n.server.Token()),
	}[reason]
	if ok {
		n.server.Fail("POST", "/messages", 1, fault)
	}
	return ok
}

func TestExercise(t *testing.T) {
	t.Parallel()
	const token = "NDI0Mg.discordtest.loopback-token-0123456789abcdef"
	states := &ledgers{}
	sdktest.Exercise(t, sdktest.Setup{
		Component: component(states),
		New: func(t testing.TB) (sdktest.Network, any) {
			s := discordtest.New(t)
			n := &fakeNetwork{server: s, state: states.of(s.URL()), said: make(chan [2]string, 1000), ids: map[string][2]string{}}
			for _, id := range []string{"7001", "7002"} {
				s.User("1"+id, "person "+id)
				s.Direct("1"+id, id)
			}
			s.Channel("900", "901", "general")
			s.Thread("901", "950", "topic")
			s.User("1901", "person of the channel")
			s.User("1950", "person of the thread")
			var speaking sync.WaitGroup
			ctx, cancel := context.WithCancel(context.Background())
			speaking.Go(func() { n.speak(ctx) })
			t.Cleanup(func() { cancel(); speaking.Wait() })
			return n, map[string]any{"token": s.Token(), "test_endpoint": s.URL()}
		},
		Chats: []chat.ID{"7001", "7002"},
		BadConfigs: []any{
			map[string]any{},
			map[string]any{"token": ""},
			map[string]any{"token": "Bot " + token},
			map[string]any{"token": "a-public-key-0123456789"},
			map[string]any{"token": token, "test_endpoint": "http://198.51.100.7:80"},
			map[string]any{"token": token, "test_endpoint": "https://discord.example"},
		},
		Secrets: []string{token, "loopback-token-0123456789abcdef", "a-public-key-0123456789"},
	})
}

// fixture is a channel that runs against a server, with its host.
type fixture struct {
	server *discordtest.Server
	host   *sdktest.Harness
	run    *sdktest.Run
	states *ledgers
	seen   map[chat.EventID]bool // by any of its hosts: what a plugin that was ended submits again is no news
	pace   pace                  // zero: that of tests
}

// start runs a channel; prepare sets the server up before.
func start(t *testing.T, prepare func(*discordtest.Server)) fixture {
	t.Helper()
	return fixture{}.start(t, prepare)
}

func (f fixture) start(t *testing.T, prepare func(*discordtest.Server)) fixture {
	t.Helper()
	f.server, f.states, f.seen = discordtest.New(t), &ledgers{}, map[chat.EventID]bool{}
	f.server.User("7", "anna")
	f.server.User("8", "bob")
	f.server.Direct("7", "70")
	f.server.Channel("900", "901", "general")
	if prepare != nil {
		prepare(f.server)
	}
	return f.again(t)
}

// again runs a new life of the plugin against the same server, with a new host that has seen nothing.
func (f fixture) again(t *testing.T) fixture {
	t.Helper()
	f.host = sdktest.New(t, componentAt(f.states, cmp.Or(f.pace, testPace())))
	f.host.Configure(map[string]any{"token": f.server.Token(), "test_endpoint": f.server.URL()})
	f.run = f.host.Run()
	f.run.WaitFor(chat.Connected)
	return f
}

// next is the body of the next event.
func next[B chat.Body](t *testing.T, f fixture) (chat.Event, B) {
	t.Helper()
	e := f.host.NextEvent()
	for f.seen[e.ID] {
		e = f.host.NextEvent()
	}
	f.seen[e.ID] = true
	body, ok := e.Body.(B)
	if !ok {
		t.Fatalf("the event is %+v", e)
	}
	return e, body
}

func (f fixture) message(t *testing.T, want string) (chat.Event, chat.Message) {
	t.Helper()
	e, m := next[chat.Message](t, f)
	if m.Text != want {
		t.Fatalf("the message is %q, want %q", m.Text, want)
	}
	return e, m
}

func TestConfigErrorsNameTheirAttribute(t *testing.T) {
	t.Parallel()
	found, err := sdktest.New(t, component(&ledgers{})).TryConfigure(map[string]any{"token": " x ", "test_endpoint": "http://10.0.0.1:1"})
	if err != nil || len(found) != 2 || found[0].Path != "token" || found[1].Path != "test_endpoint" {
		t.Errorf("found %+v, %v", found, err)
	}
}

func TestAccount(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	s.SetFlags(1 << 19)
	c := config{Token: sdk.NewSecret(s.Token()), TestEndpoint: s.URL(), MessageContent: true}
	got, err := c.CheckAccount(t.Context())
	if err != nil || got.Name == "@" || !strings.HasPrefix(got.Link, "https://discord.com/users/"+discordtest.BotID) {
		t.Errorf("got %+v, %v", got, err)
	}
	s.SetFlags(0)
	if _, err := c.CheckAccount(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "message_content: the Message Content Intent is off") {
		t.Errorf("without the intent: %v", err)
	}
	c.MessageContent = false
	if _, err := c.CheckAccount(t.Context()); err != nil {
		t.Errorf("without the intent, which is not needed: %v", err)
	}
	c.Token = sdk.NewSecret(s.Token() + "x")
	if _, err := c.CheckAccount(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "token: the token is rejected by Discord (401)") {
		t.Errorf("a wrong token: %v", err)
	}
}
