package scripts_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// groups are the ids of Telegram's groups. The hall is what the den becomes.
var groups = map[string]int64{"kitchen": -1001, "house": -1002, "den": -5, "hall": -1005}

// telegram is a Bot API.
type telegram struct {
	*telegramtest.Server
	topics map[string]int // by name, such as "house/tea"
	looked int            // how many calls there were when the bot was silent last

	stalled map[string]chan struct{} // what methods wait for
}

func newTelegram(token, username string) (*telegram, error) {
	server, err := telegramtest.Start(telegramtest.Options{Token: token, Username: username})
	if err != nil {
		return nil, fmt.Errorf("start a Bot API: %w", err)
	}
	for name, id := range people {
		user := server.User(id)
		user.FirstName, user.Username = title(name), name
	}
	server.Group(groups["kitchen"], "Kitchen")
	server.Forum(groups["house"], "House")
	server.SmallGroup(groups["den"], "Den")
	return &telegram{Server: server, topics: map[string]int{}, stalled: map[string]chan struct{}{}}, nil
}

func (t *telegram) find(name string) (chat, bool) {
	base, topic, inTopic := strings.Cut(name, "/")
	id := cmp.Or(people[base], groups[base])
	if id == 0 || inTopic && id > 0 {
		return chat{}, false
	}
	if !inTopic {
		return chat{id: id}, true
	}
	thread, known := t.topics[name]
	if !known {
		thread = t.Topic(t.User(people["anna"]), id, topic)
		t.topics[name] = thread
	}
	return chat{id, int64(thread)}, true
}

func (t *telegram) write(_ context.Context, who int64, in chat, p post) error {
	t.User(who).Post(telegramtest.Post{
		Chat: in.id, Thread: int(in.thread), Text: p.text, Quote: p.quote, ForwardedFrom: p.forwarded, Media: p.media,
		File: p.file, FileName: p.fileName, ReplyTo: int(p.replyTo),
	})
	return nil
}

func (t *telegram) edit(who int64, m message, text string) {
	t.User(who).Edit(m.in.id, int(m.id), text)
}

func (t *telegram) press(who int64, m message, data string) {
	t.User(who).Press(m.in.id, int(m.id), data)
}

func (t *telegram) await(ctx context.Context, in chat, fulfil func([]message) bool) ([]message, error) {
	var list []message
	_, err := t.AwaitMessages(ctx, in.id, func(all []telegramtest.Message) bool {
		list = nil
		for _, m := range all {
			if m.Thread == int(in.thread) {
				list = append(list, t.message(m))
			}
		}
		return fulfil(list)
	})
	return list, err
}

func (t *telegram) message(m telegramtest.Message) message {
	shown := message{
		in: chat{m.Chat, int64(m.Thread)}, id: int64(m.ID), from: m.From, text: m.Text, replyTo: int64(m.ReplyTo), reaction: m.Reaction,
		fileName: m.FileName, file: m.File,
	}
	if m.From == t.Bot().ID {
		shown.from = 0
	}
	if p := m.Poll; p != nil {
		shown.text = fmt.Sprintf("%s %q anonymous=%t multiple=%t", p.Question, p.Options, p.Anonymous, p.Multiple)
	}
	for _, b := range slices.Concat(m.Buttons...) {
		shown.buttons = append(shown.buttons, button{b.Text, b.Data})
	}
	return shown
}

func (t *telegram) taken(ctx context.Context) error { return t.AwaitConfirmed(ctx) }

func (t *telegram) chats() []chat {
	found := map[chat]bool{}
	for _, id := range slices.Concat(slices.Collect(maps.Values(people)), slices.Collect(maps.Values(groups))) {
		for _, m := range t.Messages(id) {
			found[chat{id, int64(m.Thread)}] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b chat) int {
		return cmp.Or(cmp.Compare(b.id, a.id), cmp.Compare(a.thread, b.thread))
	})
}

// telegram is the one of these bots that is a Bot API.
func (s *stage) telegram(name string) (*telegram, chat, error) {
	b, in, err := s.find(name)
	if err != nil {
		return nil, in, err
	}
	t, ok := b.network.(*telegram)
	if !ok {
		return nil, in, fmt.Errorf("%q is no chat of Telegram", name)
	}
	return t, in, nil
}

// addTopics is the command topics.
func (s *stage) addTopics(_ *testscript.TestScript, args []string) error {
	t, in, err := s.telegram(args[0])
	if err != nil {
		return err
	}
	t.Forum(in.id, title(args[0]))
	return nil
}

// upgrade is the command upgrades.
func (s *stage) upgrade(_ *testscript.TestScript, args []string) error {
	t, in, err := s.telegram(args[1])
	if err != nil {
		return err
	}
	t.Migrate(t.User(people[args[0]]), in.id, groups[args[2]])
	return nil
}

func (t *telegram) draft(ctx context.Context, in chat, matches func(string) bool) (string, error) {
	d, err := t.AwaitDraft(ctx, in.id, func(d telegramtest.Draft) bool { return matches(d.Text) })
	return d.Text, err
}

func (t *telegram) stop(in chat) { t.User(in.id).Stop() }

// inPrivate makes a command of what a person does in their own chat.
func inPrivate(do func(*telegramtest.User)) func(*stage, *testscript.TestScript, []string) error {
	return func(s *stage, _ *testscript.TestScript, args []string) error {
		t, in, err := s.telegram(args[0])
		if err != nil {
			return err
		}
		do(t.User(in.id))
		return nil
	}
}

// refuse is the command of the same name.
func (s *stage) refuse(_ *testscript.TestScript, args []string) error {
	t, _, err := s.telegram("anna")
	if err != nil {
		return err
	}
	times, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	status, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	t.Fail(args[0], times, telegramtest.Refuse(status, args[3]))
	return nil
}

// stalls and resumes are the commands of the same names.
func (s *stage) stalls(_ *testscript.TestScript, args []string) error {
	t, _, err := s.telegram("anna")
	if err != nil {
		return err
	}
	if t.stalled[args[0]] != nil {
		return fmt.Errorf("%s is stalled already", args[0])
	}
	t.stalled[args[0]] = make(chan struct{})
	t.Fail(args[0], 1, telegramtest.Stalled(t.stalled[args[0]]))
	return nil
}

func (s *stage) resumes(_ *testscript.TestScript, args []string) error {
	t, _, err := s.telegram("anna")
	if err != nil {
		return err
	}
	if t.stalled[args[0]] == nil {
		return fmt.Errorf("%s is not stalled", args[0])
	}
	close(t.stalled[args[0]])
	delete(t.stalled, args[0])
	return nil
}

// calls is the command of the same name.
func (s *stage) calls(_ *testscript.TestScript, neg bool, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: [!] calls CHAT METHOD")
	}
	t, in, err := s.telegram(args[0])
	if err != nil {
		return err
	}
	called := func() (bool, error) {
		return slices.ContainsFunc(t.Calls("")[t.looked:], func(c telegramtest.Call) bool {
			return c.Method == args[1] && c.Params["chat_id"] == strconv.FormatInt(in.id, 10)
		}), nil
	}
	if found, _ := called(); neg && found {
		return fmt.Errorf("in %s the bot has called %s", args[0], args[1])
	}
	if neg {
		return nil
	}
	ctx, cancel := s.await()
	defer cancel()
	if err := poll(ctx, called); err != nil {
		return fmt.Errorf("in %s the bot does not call %s: %w", args[0], args[1], err)
	}
	return nil
}

// menu is the command of the same name.
func (s *stage) menu(ts *testscript.TestScript, args []string) error {
	t, _, err := s.telegram("anna")
	if err != nil {
		return err
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	if err != nil {
		return err
	}
	ctx, cancel := s.await()
	defer cancel()
	menu := ""
	for n := 1; ; n++ {
		if _, err := t.AwaitCalls(ctx, "setMyCommands", n); err != nil {
			return fmt.Errorf("no menu matches %q, the last one is\n%s: %w", pattern, menu, err)
		}
		menu = ""
		for _, c := range t.Commands() {
			menu += fmt.Sprintf("/%s %s\n", c.Name, c.Description)
		}
		if pattern.MatchString(menu) {
			fmt.Fprint(ts.Stdout(), menu)
			return nil
		}
	}
}
