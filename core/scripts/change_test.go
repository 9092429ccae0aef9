package scripts_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// newest returns the newest of messages in a thread that matches a pattern, of the bot or of somebody else.
func (b *bot) newest(messages []telegramtest.Message, in chat, bots bool, pattern *regexp.Regexp) (found telegramtest.Message, ok bool) {
	for _, m := range messages {
		if m.Thread == in.thread && (m.From == b.Bot().ID) == bots && pattern.MatchString(m.Text) {
			found, ok = m, true
		}
	}
	return found, ok
}

// shows is the command of the same name.
func (s *stage) shows(ts *testscript.TestScript, neg bool, args []string) error {
	if len(args) < 2 || neg && len(args) != 2 {
		return errors.New("usage: [!] shows CHAT PATTERN [BUTTON…]")
	}
	b, in, err := s.find(args[0])
	if err != nil {
		return err
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	if err != nil {
		return err
	}
	ctx, cancel := s.await()
	defer cancel()
	var found telegramtest.Message
	_, err = b.AwaitMessages(ctx, in.id, func(all []telegramtest.Message) bool {
		m, ok := b.newest(all, in, true, pattern)
		if found = m; neg || !ok {
			return neg && !ok
		}
		return len(args) == 2 || labelled(m, args[2:])
	})
	if err != nil {
		return fmt.Errorf("in %s the newest message that matches %q is %q with the buttons %q: %w", args[0], pattern, found.Text, labels(found), err)
	}
	b.seen[in] = max(b.seen[in], found.ID)
	fmt.Fprintln(ts.Stdout(), found.Text)
	return nil
}

func labels(m telegramtest.Message) []string {
	var list []string
	for _, row := range m.Buttons {
		for _, button := range row {
			list = append(list, button.Text)
		}
	}
	return list
}

// labelled tells whether a message has these buttons, each named by a part of its label; "-" alone: none.
func labelled(m telegramtest.Message, want []string) bool {
	got := labels(m)
	if len(want) == 1 && want[0] == "-" {
		return len(got) == 0
	}
	if len(got) != len(want) {
		return false
	}
	for i, part := range want {
		if !strings.Contains(got[i], part) {
			return false
		}
	}
	return true
}

// drafts is the command of the same name.
func (s *stage) drafts(ts *testscript.TestScript, neg bool, args []string) error {
	if neg || len(args) != 2 {
		return errors.New("usage: drafts WHO PATTERN")
	}
	b, in, err := s.find(args[0])
	if err != nil {
		return err
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	if err != nil {
		return err
	}
	ctx, cancel := s.await()
	defer cancel()
	d, err := b.AwaitDraft(ctx, in.id, func(d telegramtest.Draft) bool { return pattern.MatchString(d.Text) })
	fmt.Fprintln(ts.Stdout(), d.Text)
	return err
}

// stops is the command of the same name.
func (s *stage) stops(_ *testscript.TestScript, neg bool, args []string) error {
	if neg || len(args) != 1 {
		return errors.New("usage: stops WHO")
	}
	b, in, err := s.find(args[0])
	if err != nil {
		return err
	}
	b.User(in.id).Stop()
	return nil
}

// presses is the command of the same name.
func (s *stage) presses(_ *testscript.TestScript, neg bool, args []string) error {
	if neg || len(args) != 4 {
		return errors.New("usage: presses WHO CHAT PATTERN BUTTON")
	}
	b, m, who, err := s.messageOf(args[0], args[1], args[2], true)
	if err != nil {
		return err
	}
	for _, row := range m.Buttons {
		for _, button := range row {
			if strings.Contains(button.Text, args[3]) {
				b.User(who).Press(m.Chat, m.ID, button.Data)
				return nil
			}
		}
	}
	return fmt.Errorf("the message has no button %q, but %q", args[3], labels(m))
}

// edits is the command of the same name.
func (s *stage) edits(_ *testscript.TestScript, neg bool, args []string) error {
	if neg || len(args) != 4 {
		return errors.New("usage: edits WHO CHAT PATTERN TEXT")
	}
	b, m, who, err := s.messageOf(args[0], args[1], args[2], false)
	if err != nil {
		return err
	}
	b.User(who).Edit(m.Chat, m.ID, args[3])
	return nil
}

// reacted is the command of the same name.
func (s *stage) reacted(_ *testscript.TestScript, neg bool, args []string) error {
	if neg || len(args) != 3 {
		return errors.New("usage: reacted CHAT PATTERN EMOJI")
	}
	b, in, err := s.find(args[0])
	if err != nil {
		return err
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	if err != nil {
		return err
	}
	ctx, cancel := s.await()
	defer cancel()
	var found telegramtest.Message
	_, err = b.AwaitMessages(ctx, in.id, func(all []telegramtest.Message) bool {
		found, _ = b.newest(all, in, false, pattern)
		return found.Reaction == strings.TrimPrefix(args[2], "-")
	})
	if err != nil {
		return fmt.Errorf("the message has the reaction %q: %w", found.Reaction, err)
	}
	return nil
}

// messageOf finds the newest message that matches in a chat, and who is to do something with it.
func (s *stage) messageOf(who, where, text string, bots bool) (b *bot, m telegramtest.Message, user int64, err error) {
	_, own, err := s.find(who)
	if err != nil {
		return nil, m, 0, err
	}
	b, in, err := s.find(where)
	if err != nil {
		return nil, m, 0, err
	}
	pattern, err := regexp.Compile("(?m)" + text)
	if err != nil {
		return nil, m, 0, err
	}
	m, ok := b.newest(b.Messages(in.id), in, bots, pattern)
	if !ok {
		return nil, m, 0, fmt.Errorf("in %s no message matches %q", where, pattern)
	}
	return b, m, own.id, nil
}
