package scripts_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// replies is the command of the same name.
func (s *stage) replies(_ *testscript.TestScript, neg bool, args []string) error {
	if neg || len(args) != 3 {
		return errors.New("usage: replies CHAT PATTERN TO")
	}
	b, in, err := s.find(args[0])
	if err != nil {
		return err
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	if err != nil {
		return err
	}
	m, ok := b.newest(b.Messages(in.id), in, true, pattern)
	if !ok {
		return fmt.Errorf("in %s no message matches %q", args[0], pattern)
	}
	to := ""
	for _, other := range b.Messages(in.id) {
		if m.ReplyTo != 0 && other.ID == m.ReplyTo {
			to = other.Text
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
func (s *stage) id(ts *testscript.TestScript, neg bool, args []string) error {
	if neg || len(args) != 3 {
		return errors.New("usage: id NAME CHAT PATTERN")
	}
	b, in, err := s.find(args[1])
	if err != nil {
		return err
	}
	pattern, err := regexp.Compile("(?m)" + args[2])
	if err != nil {
		return err
	}
	for _, m := range b.said(in) {
		if pattern.MatchString(m.Text) {
			ts.Setenv(args[0], strconv.Itoa(m.ID))
			return nil
		}
	}
	return fmt.Errorf("in %s no message matches %q", args[1], pattern)
}

// blocks and unblocks are the commands of the same names.
func (s *stage) blocks(_ *testscript.TestScript, neg bool, args []string) error {
	return s.inPrivate(neg, args, (*telegramtest.User).Block)
}

func (s *stage) unblocks(_ *testscript.TestScript, neg bool, args []string) error {
	return s.inPrivate(neg, args, (*telegramtest.User).Unblock)
}

func (s *stage) inPrivate(neg bool, args []string, do func(*telegramtest.User)) error {
	if neg || len(args) != 1 {
		return errors.New("usage: [un]blocks WHO")
	}
	b, in, err := s.find(args[0])
	if err != nil {
		return err
	}
	do(b.User(in.id))
	return nil
}

// refuse is the command of the same name.
func (s *stage) refuse(_ *testscript.TestScript, neg bool, args []string) error {
	if neg || len(args) != 4 {
		return errors.New("usage: refuse METHOD TIMES STATUS TEXT")
	}
	times, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	status, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	s.bots["telegram"].Fail(args[0], times, telegramtest.Refuse(status, args[3]))
	return nil
}

// calls is the command of the same name.
func (s *stage) calls(_ *testscript.TestScript, neg bool, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: [!] calls CHAT METHOD")
	}
	b, in, err := s.find(args[0])
	if err != nil {
		return err
	}
	called := func() (bool, error) {
		return slices.ContainsFunc(b.Calls("")[b.looked:], func(c telegramtest.Call) bool {
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
