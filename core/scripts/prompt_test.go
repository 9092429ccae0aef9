package scripts_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// prompt is a text that claude has read.
type prompt struct {
	id, text string
	at       time.Time
}

var (
	times    = regexp.MustCompile(`(?:\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?\b\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)? UTC`)
	outgoing = regexp.MustCompile(`\[Outgoing files: outbound/[0-9a-f]{12}\]\n+`)
	elapsed  = regexp.MustCompile(` \+\d+[smhd] NOW\]`)
	headers  = regexp.MustCompile(` NOW id:[^\]\s]+\]`)
	queued   = regexp.MustCompile(`(?m)^(Queued #\d+(?: \(.*\))?) id:\S+$`)
	messages = regexp.MustCompile(`( id:|thread id: )\d+\b`)
)

// plain puts words in the place of what differs each time.
func plain(text string) string {
	text = outgoing.ReplaceAllString(text, "")
	text = times.ReplaceAllString(text, "NOW")
	text = headers.ReplaceAllString(text, " NOW]")
	text = queued.ReplaceAllString(text, "$1")
	text = elapsed.ReplaceAllString(text, " NOW]")
	return messages.ReplaceAllString(text, "${1}ID")
}

// prompts are all texts that claude has read, in order: those that began a turn and those that were steered into a running one.
// The transcripts on disk have them.
func (s *stage) prompts() []prompt {
	var list []prompt
	known := map[string]bool{} // a forked conversation begins with a copy of the other
	for _, e := range s.transcripts() {
		if p, ok := e.prompt(); ok && !known[p.id] {
			known[p.id] = true
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b prompt) int { return a.at.Compare(b.at) })
	return list
}

// handed is the command told.
func (s *stage) handed(_ *testscript.TestScript, args []string) error {
	pattern, err := regexp.Compile("(?m)" + args[0])
	if err != nil {
		return err
	}
	ctx, cancel := s.await()
	defer cancel()
	if err := poll(ctx, func() (bool, error) { return slices.ContainsFunc(s.waiting(), pattern.MatchString), nil }); err != nil {
		return fmt.Errorf("claude gets nothing that matches %q: %w", pattern, err)
	}
	return nil
}

// waiting are the lines that claude was given, whether it has read them or not.
func (s *stage) waiting() []string {
	var list []string
	for _, e := range s.transcripts() {
		if e.Type == "queue-operation" && e.Operation == "enqueue" {
			list = append(list, plain(e.Content))
		}
	}
	return list
}

// entry is what the scripts need of a line of a transcript.
type entry struct {
	Type, UUID, Operation, Content string
	Timestamp                      time.Time
	Message                        struct{ Content any }
	Attachment                     struct {
		Type, Prompt string
		Source       string `json:"source_uuid"`
	}
}

// prompt returns what claude has read, if the line is about that.
func (e entry) prompt() (prompt, bool) {
	if e.Type == "attachment" && e.Attachment.Type == "queued_command" {
		return prompt{e.Attachment.Source, plain(e.Attachment.Prompt), e.Timestamp}, true
	}
	text, ok := e.Message.Content.(string)
	return prompt{e.UUID, plain(text), e.Timestamp}, ok && e.Type == "user"
}

// transcripts are the lines of all of claude's transcripts, but for torn ones.
func (s *stage) transcripts() []entry {
	paths, _ := filepath.Glob(filepath.Join(s.dir, ".claude", "projects", "*", "*.jsonl")) // the pattern is well-formed
	var list []entry
	for _, path := range paths {
		all, err := os.ReadFile(path)
		if err != nil {
			continue // it is not there any more
		}
		for line := range bytes.Lines(all) {
			var e entry
			if json.Unmarshal(line, &e) == nil {
				list = append(list, e)
			}
		}
	}
	return list
}

// unread is the first prompt that the script has not seen.
func (s *stage) unread() (prompt, bool) {
	for _, p := range s.prompts() {
		if !s.read[p.id] {
			return p, true
		}
	}
	return prompt{}, false
}

// prompt is the command of the same name.
func (s *stage) prompt(ts *testscript.TestScript, neg bool, args []string) error {
	ctx, cancel := s.await()
	defer cancel()
	if neg {
		if len(args) > 0 || s.host == nil {
			return errors.New("usage: ! prompt, where a host runs")
		}
		if err := s.settled(ctx); err != nil {
			return err
		}
		if p, ok := s.unread(); ok {
			return fmt.Errorf("claude read\n%s", p.text)
		}
		return nil
	}
	if len(args) == 0 {
		args = []string{""}
	}
	for _, text := range args {
		pattern, err := regexp.Compile("(?m)" + text)
		if err != nil {
			return err
		}
		p, err := s.nextPrompt(ctx)
		if err != nil {
			return fmt.Errorf("claude reads nothing that could match %q: %w", pattern, err)
		}
		fmt.Fprintln(ts.Stdout(), p.text)
		if !pattern.MatchString(p.text) {
			return fmt.Errorf("claude read\n%s\nwhich does not match %q", p.text, pattern)
		}
	}
	return nil
}

func (s *stage) nextPrompt(ctx context.Context) (next prompt, err error) {
	err = poll(ctx, func() (found bool, _ error) {
		next, found = s.unread()
		return found, nil
	})
	s.read[next.id] = true
	return next, err
}
