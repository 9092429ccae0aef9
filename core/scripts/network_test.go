package scripts_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// people are the ids of those who write to the bots.
var people = map[string]int64{"anna": 1001, "bob": 1002, "carol": 1003}

// nameOf is a person's name as it is written at the beginning of a line.
func nameOf(id int64) string {
	for name, of := range people {
		if of == id {
			return title(name)
		}
	}
	return "the bot"
}

// title is a name as it is written at the beginning of a line.
func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// network is a chat network with a bot: what people do there reaches the bot, and what the bot writes is seen.
type network interface {
	// find returns the chat with a name, such as "anna", "kitchen" or "house/tea"; false: there is no such chat. A topic or thread is
	// opened at its first use.
	find(name string) (chat, bool)
	write(ctx context.Context, who int64, in chat, p post) error
	edit(who int64, m message, text string)
	press(who int64, m message, data string)
	// await waits until the messages of a chat, oldest first, fulfil a condition, and returns them.
	await(ctx context.Context, in chat, fulfil func([]message) bool) ([]message, error)
	// taken waits until the host has taken in all that people did.
	taken(ctx context.Context) error
	// chats are with messages of people.
	chats() []chat
}

// drafter is a network that shows an answer of the bot's before it is sent.
type drafter interface {
	// draft waits until what a chat shows matches, and returns it.
	draft(ctx context.Context, in chat, matches func(text string) bool) (string, error)
	// stop presses the button that ends the answer.
	stop(in chat)
}

// typist is a network that tells the bot who is typing.
type typist interface {
	types(who int64, in chat) error
}

// chat is where messages are written: a thread of a chat, or the chat itself.
type chat struct{ id, thread int64 }

// post is a message that a person writes.
type post struct {
	text, quote, forwarded, media, fileName string
	file                                    []byte
	replyTo                                 int64
}

// message is a message as a chat shows it.
type message struct {
	in       chat
	id       int64 // a later message of a network has a greater one
	from     int64 // one of the people; zero: the bot
	text     string
	replyTo  int64
	buttons  []button
	reaction string // the bot's
	fileName string
	file     []byte
}

type button struct{ label, data string }

// bot is a network and what the script has seen there.
type bot struct {
	network
	seen map[chat]int64 // the id of the newest of the bot's messages that was expected
}

// find returns the chat with a name, such as "anna" or "work:anna", and its bot.
func (s *stage) find(name string) (*bot, chat, error) {
	label, rest, found := strings.Cut(name, ":")
	if !found {
		label, rest = "telegram", name
	}
	if b := s.bots[label]; b != nil {
		if in, found := b.find(rest); found {
			return b, in, nil
		}
	}
	return nil, chat{}, fmt.Errorf("there is no chat %q", name)
}

// findAnd returns a chat by its name, and a pattern.
func (s *stage) findAnd(name, pattern string) (*bot, chat, *regexp.Regexp, error) {
	b, in, err := s.find(name)
	if err != nil {
		return nil, chat{}, nil, err
	}
	compiled, err := regexp.Compile("(?m)" + pattern)
	return b, in, compiled, err
}

// said are the messages of a chat now, oldest first.
func (b *bot) said(in chat) []message {
	now, cancel := context.WithCancel(context.Background())
	cancel() // It does not wait.
	list, _ := b.await(now, in, func([]message) bool { return true })
	return list
}

// news are the messages that the bot wrote in a chat since the newest that was expected.
func (b *bot) news(in chat) []message {
	return slices.DeleteFunc(b.said(in), func(m message) bool { return m.from != 0 || m.id <= b.seen[in] })
}

// newest returns the newest message that matches a pattern, of the bot or of a person.
func newest(messages []message, bots bool, pattern *regexp.Regexp) (found message, ok bool) {
	for _, m := range messages {
		if (m.from == 0) == bots && pattern.MatchString(m.text) {
			found, ok = m, true
		}
	}
	return found, ok
}

// messageOf finds the newest message that matches in a chat, and who is to do something with it.
func (s *stage) messageOf(who, where, text string, bots bool) (b *bot, m message, user int64, err error) {
	_, person, found := strings.Cut(who, ":")
	if !found {
		person = who
	}
	if people[person] == 0 {
		return nil, m, 0, fmt.Errorf("there is nobody %q", who)
	}
	b, in, pattern, err := s.findAnd(where, text)
	if err != nil {
		return nil, m, 0, err
	}
	m, ok := newest(b.said(in), bots, pattern)
	if !ok {
		return nil, m, 0, fmt.Errorf("in %s no message matches %q", where, pattern)
	}
	return b, m, people[person], nil
}

// conversations is all that was written, for a person to read.
func (b *bot) conversations() string {
	var text strings.Builder
	for _, in := range b.chats() {
		fmt.Fprintf(&text, "%d/%d\n", in.id, in.thread)
		for _, m := range b.said(in) {
			fmt.Fprintf(&text, "  %s: %s\n", nameOf(m.from), strings.ReplaceAll(m.text, "\n", "\n    "))
		}
	}
	return text.String()
}
