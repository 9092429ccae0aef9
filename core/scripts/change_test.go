package scripts_test

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// shows is the command of the same name.
func (s *stage) shows(ts *testscript.TestScript, neg bool, args []string) error {
	if len(args) < 2 || neg && len(args) != 2 {
		return errors.New("usage: [!] shows CHAT PATTERN [BUTTON…]")
	}
	b, in, pattern, err := s.findAnd(args[0], args[1])
	if err != nil {
		return err
	}
	ctx, cancel := s.await()
	defer cancel()
	var found message
	_, err = b.await(ctx, in, func(all []message) bool {
		m, ok := newest(all, true, pattern)
		if found = m; neg || !ok {
			return neg && !ok
		}
		return len(args) == 2 || labelled(m, args[2:])
	})
	if err != nil {
		return fmt.Errorf("in %s the newest message that matches %q is %q with the buttons %q: %w", args[0], pattern, found.text, labels(found), err)
	}
	b.seen[in] = max(b.seen[in], found.id)
	fmt.Fprintln(ts.Stdout(), found.text)
	return nil
}

func labels(m message) []string {
	var list []string
	for _, b := range m.buttons {
		list = append(list, b.label)
	}
	return list
}

// labelled reports whether a message has these buttons, each named by a part of its label; "-" alone: none.
func labelled(m message, want []string) bool {
	got := labels(m)
	if len(want) == 1 && want[0] == "-" {
		return len(got) == 0
	}
	return slices.EqualFunc(got, want, strings.Contains)
}

// presses is the command of the same name.
func (s *stage) presses(_ *testscript.TestScript, args []string) error {
	b, m, who, err := s.messageOf(args[0], args[1], args[2], true)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(m.buttons, func(b button) bool { return strings.Contains(b.label, args[3]) })
	if i < 0 {
		return fmt.Errorf("the message has no button %q, but %q", args[3], labels(m))
	}
	b.press(who, m, m.buttons[i].data)
	return nil
}

// edits is the command of the same name.
func (s *stage) edits(_ *testscript.TestScript, args []string) error {
	b, m, who, err := s.messageOf(args[0], args[1], args[2], false)
	if err != nil {
		return err
	}
	b.edit(who, m, args[3])
	return nil
}

// reacted is the command of the same name. Messages of people come first.
func (s *stage) reacted(_ *testscript.TestScript, args []string) error {
	b, in, pattern, err := s.findAnd(args[0], args[1])
	if err != nil {
		return err
	}
	ctx, cancel := s.await()
	defer cancel()
	var found message
	_, err = b.await(ctx, in, func(all []message) bool {
		var ok bool
		if found, ok = newest(all, false, pattern); !ok {
			found, _ = newest(all, true, pattern)
		}
		return found.reaction == strings.TrimPrefix(args[2], "-")
	})
	if err != nil {
		return fmt.Errorf("the message has the reaction %q: %w", found.reaction, err)
	}
	return nil
}

// sends is the command of the same name.
func (s *stage) sends(ts *testscript.TestScript, args []string) error {
	b, in, err := s.find(args[0])
	if err != nil {
		return err
	}
	ctx, cancel := s.await()
	defer cancel()
	content := []byte(ts.ReadFile(args[2]))
	_, err = b.await(ctx, in, func(all []message) bool {
		i := slices.IndexFunc(all, func(m message) bool { return m.from == 0 && m.fileName == args[1] && bytes.Equal(m.file, content) })
		if i >= 0 {
			b.seen[in] = max(b.seen[in], all[i].id)
		}
		return i >= 0
	})
	return err
}

// replies is the command of the same name.
func (s *stage) replies(_ *testscript.TestScript, args []string) error {
	b, m, _, err := s.messageOf("anna", args[0], args[1], true)
	if err != nil {
		return err
	}
	to := ""
	for _, other := range b.said(m.in) {
		if m.replyTo != 0 && other.id == m.replyTo {
			to = other.text
		}
	}
	if args[2] == "-" && to == "" {
		return nil
	}
	wanted, err := regexp.Compile("(?m)" + args[2])
	if err != nil {
		return err
	}
	if to == "" || !wanted.MatchString(to) {
		return fmt.Errorf("the message is a reply to %q", to)
	}
	return nil
}

// id is the command of the same name.
func (s *stage) id(ts *testscript.TestScript, args []string) error {
	b, in, pattern, err := s.findAnd(args[1], args[2])
	if err != nil {
		return err
	}
	for _, m := range b.said(in) {
		if pattern.MatchString(m.text) {
			ts.Setenv(args[0], strconv.FormatInt(m.id, 10))
			return nil
		}
	}
	return fmt.Errorf("in %s no message matches %q", args[1], pattern)
}
