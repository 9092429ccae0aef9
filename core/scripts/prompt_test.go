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
	elapsed  = regexp.MustCompile(` \+\d+[smhd] NOW\]`)
	messages = regexp.MustCompile(` id:\d+\]`)
)

// plain puts words in the place of what differs each time.
func plain(text string) string {
	text = times.ReplaceAllString(text, "NOW")
	text = elapsed.ReplaceAllString(text, " NOW]")
	return messages.ReplaceAllString(text, " id:ID]")
}

// prompts are all texts that claude has read, in order: those that began a turn and those that were told to a running one.
// The transcripts on disk have them.
func (s *stage) prompts() []prompt {
	paths, _ := filepath.Glob(filepath.Join(s.dir, ".claude", "projects", "*", "*.jsonl")) // the pattern is well-formed
	var list []prompt
	known := map[string]bool{} // a forked conversation begins with a copy of the other
	for _, path := range paths {
		all, err := os.ReadFile(path)
		if err != nil {
			continue // it is not there any more
		}
		for line := range bytes.Lines(all) {
			if p, ok := parsePrompt(line); ok && !known[p.id] {
				known[p.id] = true
				list = append(list, p)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b prompt) int { return a.at.Compare(b.at) })
	return list
}

// parsePrompt reads a line of a transcript, which may be torn or about something else.
func parsePrompt(line []byte) (prompt, bool) {
	var entry struct {
		Type, UUID string
		Timestamp  time.Time
		Message    struct{ Content any }
		Attachment struct {
			Type, Prompt string
			Source       string `json:"source_uuid"`
		}
	}
	if err := json.Unmarshal(line, &entry); err != nil {
		return prompt{}, false
	}
	if entry.Type == "attachment" && entry.Attachment.Type == "queued_command" {
		return prompt{entry.Attachment.Source, plain(entry.Attachment.Prompt), entry.Timestamp}, true
	}
	text, ok := entry.Message.Content.(string)
	return prompt{entry.UUID, plain(text), entry.Timestamp}, ok && entry.Type == "user"
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
