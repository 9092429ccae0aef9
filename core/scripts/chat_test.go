package scripts_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// people and rooms are the ids of those who write to a bot, and of the groups that they do it in.
var (
	people = map[string]int64{"anna": 1001, "bob": 1002, "carol": 1003}
	rooms  = map[string]int64{"kitchen": -1001, "house": -1002}
)

// bot is the Bot API of one bot, and what the script has seen there.
type bot struct {
	*telegramtest.Server
	topics map[string]int // by name, such as "house/tea"
	seen   map[chat]int   // the id of the newest of the bot's messages that was expected
	looked int            // how many calls there were when the bot was silent last
}

// chat is where messages are written: a thread of a chat, or the chat itself.
type chat struct {
	id     int64
	thread int
}

func newBot(server *telegramtest.Server) *bot {
	for name, id := range people {
		user := server.User(id)
		user.FirstName, user.Username = title(name), name
	}
	server.Group(rooms["kitchen"], "Kitchen")
	server.Forum(rooms["house"], "House")
	return &bot{Server: server, topics: map[string]int{}, seen: map[chat]int{}}
}

// find returns the chat with a name, such as "anna", "work:anna" or "house/tea", and its bot. A topic is opened at its first
// use.
func (s *stage) find(name string) (*bot, chat, error) {
	label, rest, found := strings.Cut(name, ":")
	if !found {
		label, rest = "telegram", name
	}
	b := s.bots[label]
	room, topic, inTopic := strings.Cut(rest, "/")
	id := cmp.Or(people[room], rooms[room])
	if b == nil || id == 0 || inTopic && id > 0 {
		return nil, chat{}, fmt.Errorf("there is no chat %q", name)
	}
	if !inTopic {
		return b, chat{id: id}, nil
	}
	thread, known := b.topics[rest]
	if !known {
		thread = b.Topic(b.User(people["anna"]), id, topic)
		b.topics[rest] = thread
	}
	return b, chat{id, thread}, nil
}

// addTopics is the command topics.
func (s *stage) addTopics(_ *testscript.TestScript, neg bool, args []string) error {
	if neg || len(args) != 1 || rooms[args[0]] == 0 {
		return errors.New("usage: topics GROUP")
	}
	s.bots["telegram"].Forum(rooms[args[0]], title(args[0]))
	return nil
}

// title is a name as it is written at the beginning of a line.
func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// said are the messages of a chat, oldest first.
func (b *bot) said(in chat) []telegramtest.Message {
	return slices.DeleteFunc(b.Messages(in.id), func(m telegramtest.Message) bool { return m.Thread != in.thread })
}

// news are the messages that the bot wrote in a chat since the newest that was expected.
func (b *bot) news(in chat) []telegramtest.Message {
	return slices.DeleteFunc(b.said(in), func(m telegramtest.Message) bool { return m.From != b.Bot().ID || m.ID <= b.seen[in] })
}

// says is the command of the same name.
func (s *stage) says(ts *testscript.TestScript, neg bool, args []string) error {
	var in, reply, file, text string
	var post telegramtest.Post
	flags := flag.NewFlagSet("says", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&in, "in", "", "")
	flags.StringVar(&reply, "reply", "", "")
	flags.StringVar(&post.Quote, "quote", "", "")
	flags.StringVar(&post.ForwardedFrom, "forwarded", "", "")
	flags.StringVar(&post.Media, "media", "", "")
	flags.StringVar(&file, "file", "", "")
	flags.StringVar(&text, "text", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case !neg && flags.NArg() == 2 && text == "":
		post.Text = flags.Arg(1)
	case !neg && flags.NArg() == 1 && text != "":
		post.Text = strings.TrimSuffix(ts.ReadFile(text), "\n")
	default:
		return errors.New("usage: says [FLAGS] WHO TEXT")
	}
	who := flags.Arg(0)
	b, own, err := s.find(who)
	if err != nil {
		return err
	}
	to := own
	if in != "" {
		if b, to, err = s.find(in); err != nil {
			return err
		}
	}
	post.Chat, post.Thread = to.id, to.thread
	if file != "" {
		post.File, post.FileName = []byte(ts.ReadFile(file)), file
	}
	if reply != "" {
		pattern, err := regexp.Compile("(?m)" + reply)
		if err != nil {
			return err
		}
		for _, m := range b.said(to) {
			if pattern.MatchString(m.Text) {
				post.ReplyTo = m.ID
			}
		}
		if post.ReplyTo == 0 {
			return fmt.Errorf("no message to reply to matches %q", reply)
		}
	}
	b.User(own.id).Post(post)
	return nil
}

// expect is the command of the same name.
func (s *stage) expect(ts *testscript.TestScript, neg bool, args []string) error {
	among := len(args) > 0 && args[0] == "-among"
	if among {
		args = args[1:]
	}
	if neg || len(args) == 0 || among && len(args) == 1 {
		return errors.New("usage: expect [-among] CHAT [PATTERN…]")
	}
	b, in, err := s.find(args[0])
	if err != nil {
		return err
	}
	patterns := args[1:]
	if len(patterns) == 0 {
		patterns = []string{""}
	}
	for _, text := range patterns {
		pattern, err := regexp.Compile("(?m)" + text)
		if err != nil {
			return err
		}
		ctx, cancel := s.await()
		next, err := b.AwaitMessage(ctx, in.id, func(m telegramtest.Message) bool {
			return m.Thread == in.thread && m.ID > b.seen[in] && (!among || pattern.MatchString(m.Text))
		})
		cancel()
		if err != nil {
			return fmt.Errorf("in %s the bot writes nothing that could match %q: %w", args[0], pattern, err)
		}
		b.seen[in] = next.ID
		next.Text = outgoing.ReplaceAllString(next.Text, "")
		fmt.Fprintln(ts.Stdout(), next.Text)
		if !pattern.MatchString(next.Text) {
			return fmt.Errorf("in %s the bot wrote\n%s\nwhich does not match %q", args[0], next.Text, pattern)
		}
	}
	return nil
}

// silent is the command of the same name.
func (s *stage) silent(_ *testscript.TestScript, neg bool, args []string) error {
	if neg || s.host == nil {
		return errors.New("usage: silent [CHAT…], where a host runs")
	}
	ctx, cancel := s.await()
	defer cancel()
	if err := s.settled(ctx); err != nil {
		return err
	}
	for _, b := range s.bots {
		b.looked = len(b.Calls(""))
	}
	type place struct {
		bot *bot
		in  chat
	}
	var places []place
	for _, name := range args {
		b, in, err := s.find(name)
		if err != nil {
			return err
		}
		places = append(places, place{b, in})
	}
	if len(args) == 0 {
		for _, b := range s.bots {
			for _, in := range b.chats() {
				places = append(places, place{b, in})
			}
		}
	}
	for _, p := range places {
		if news := p.bot.news(p.in); len(news) > 0 {
			return fmt.Errorf("the bot was not silent, it wrote\n%s", news[0].Text)
		}
	}
	return nil
}

// chats are where somebody has written something.
func (b *bot) chats() []chat {
	found := map[chat]bool{}
	for _, id := range slices.Concat(slices.Collect(maps.Values(people)), slices.Collect(maps.Values(rooms))) {
		for _, m := range b.Messages(id) {
			found[chat{id, m.Thread}] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b chat) int {
		return cmp.Or(cmp.Compare(b.id, a.id), cmp.Compare(a.thread, b.thread))
	})
}

// conversations is all that was written, for a person to read.
func (b *bot) conversations() string {
	var text strings.Builder
	for _, in := range b.chats() {
		fmt.Fprintf(&text, "%d/%d\n", in.id, in.thread)
		for _, m := range b.said(in) {
			fmt.Fprintf(&text, "  %s: %s\n", b.User(m.From).FirstName, strings.ReplaceAll(m.Text, "\n", "\n    "))
		}
	}
	return text.String()
}

// menu is the command of the same name.
func (s *stage) menu(ts *testscript.TestScript, neg bool, args []string) error {
	if neg || len(args) != 1 {
		return errors.New("usage: menu PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	if err != nil {
		return err
	}
	ctx, cancel := s.await()
	defer cancel()
	b, menu := s.bots["telegram"], ""
	for n := 1; ; n++ {
		if _, err := b.AwaitCalls(ctx, "setMyCommands", n); err != nil {
			return fmt.Errorf("no menu matches %q, the last one is\n%s: %w", pattern, menu, err)
		}
		menu = ""
		for _, c := range b.Commands() {
			menu += fmt.Sprintf("/%s %s\n", c.Name, c.Description)
		}
		if pattern.MatchString(menu) {
			fmt.Fprint(ts.Stdout(), menu)
			return nil
		}
	}
}
