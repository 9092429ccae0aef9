package scripts_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// types is the command of the same name.
func (s *stage) types(_ *testscript.TestScript, args []string) error {
	b, in, err := s.find(args[1])
	if err != nil {
		return err
	}
	t, ok := b.network.(typist)
	if !ok {
		return fmt.Errorf("nobody is seen typing in %s", args[1])
	}
	return t.types(people[args[0][strings.IndexByte(args[0], ':')+1:]], in)
}

// says is the command of the same name.
func (s *stage) says(ts *testscript.TestScript, neg bool, args []string) error {
	var in, reply, file, text string
	var p post
	flags := flag.NewFlagSet("says", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&in, "in", "", "")
	flags.StringVar(&reply, "reply", "", "")
	flags.StringVar(&p.quote, "quote", "", "")
	flags.StringVar(&p.forwarded, "forwarded", "", "")
	flags.StringVar(&p.media, "media", "", "")
	flags.StringVar(&file, "file", "", "")
	flags.StringVar(&text, "text", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case !neg && flags.NArg() == 2 && text == "":
		p.text = flags.Arg(1)
	case !neg && flags.NArg() == 1 && text != "":
		p.text = strings.TrimSuffix(ts.ReadFile(text), "\n")
	default:
		return errors.New("usage: says [FLAGS] WHO TEXT")
	}
	who := flags.Arg(0)
	if in == "" {
		in = who
	}
	b, to, pattern, err := s.findAnd(in, reply)
	if err != nil {
		return err
	}
	if file != "" {
		p.file, p.fileName = []byte(ts.ReadFile(file)), file
	}
	if reply != "" {
		for _, m := range b.said(to) {
			if pattern.MatchString(m.text) {
				p.replyTo = m.id
			}
		}
		if p.replyTo == 0 {
			return fmt.Errorf("no message to reply to matches %q", reply)
		}
	}
	ctx, cancel := s.await()
	defer cancel()
	return b.write(ctx, people[who[strings.IndexByte(who, ':')+1:]], to, p)
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
		next, err := s.next(b, in, func(m message) bool { return !among || pattern.MatchString(m.text) })
		if err != nil {
			return fmt.Errorf("in %s the bot writes nothing that could match %q: %w", args[0], pattern, err)
		}
		b.seen[in] = next.id
		next.text = outgoing.ReplaceAllString(next.text, "")
		fmt.Fprintln(ts.Stdout(), next.text)
		if !pattern.MatchString(next.text) {
			return fmt.Errorf("in %s the bot wrote\n%s\nwhich does not match %q", args[0], next.text, pattern)
		}
	}
	return nil
}

// next waits for the first message of the bot that was not expected and that matches.
func (s *stage) next(b *bot, in chat, matches func(message) bool) (next message, err error) {
	ctx, cancel := s.await()
	defer cancel()
	_, err = b.await(ctx, in, func(all []message) bool {
		for _, m := range all {
			if m.from == 0 && m.id > b.seen[in] && matches(m) {
				next = m
				return true
			}
		}
		return false
	})
	return next, err
}

// drafts is the command of the same name.
func (s *stage) drafts(ts *testscript.TestScript, args []string) error {
	b, in, pattern, err := s.findAnd(args[0], args[1])
	if err != nil {
		return err
	}
	d, ok := b.network.(drafter)
	if !ok {
		return fmt.Errorf("no drafts are shown in %s", args[0])
	}
	ctx, cancel := s.await()
	defer cancel()
	text, err := d.draft(ctx, in, pattern.MatchString)
	fmt.Fprintln(ts.Stdout(), text)
	return err
}

// stops is the command of the same name.
func (s *stage) stops(_ *testscript.TestScript, args []string) error {
	b, in, err := s.find(args[0])
	if err != nil {
		return err
	}
	d, ok := b.network.(drafter)
	if !ok {
		return fmt.Errorf("nothing can be stopped in %s", args[0])
	}
	d.stop(in)
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
		if t, ok := b.network.(*telegram); ok {
			t.looked = len(t.Calls(""))
		}
	}
	quiet := func(b *bot, in chat) error {
		if news := b.news(in); len(news) > 0 {
			return fmt.Errorf("the bot was not silent, it wrote\n%s", news[0].text)
		}
		return nil
	}
	for _, name := range args {
		b, in, err := s.find(name)
		if err != nil {
			return err
		}
		if err := quiet(b, in); err != nil {
			return err
		}
	}
	if len(args) > 0 {
		return nil
	}
	for _, b := range s.bots {
		for _, in := range b.chats() {
			if err := quiet(b, in); err != nil {
				return err
			}
		}
	}
	return nil
}

// taken is the command of the same name.
func (s *stage) taken(*testscript.TestScript, []string) error {
	ctx, cancel := s.await()
	defer cancel()
	return s.takenIn(ctx)
}
