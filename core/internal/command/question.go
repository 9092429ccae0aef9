package command

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/core/internal/access"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/permission"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Questions are what claude asks people before it does something.
type Questions interface {
	// Answer takes somebody's answer to a question. What it returns is told to them; an empty text is not. known is false for
	// an id that no question has.
	Answer(ctx context.Context, caller chat.Caller, id, answer string) (told string, known bool, err error)
	// Hear takes a plain message for the answer that it was read as. What it returns is told to whoever wrote.
	Hear(ctx context.Context, id, answer string, w permission.Written) (told string, err error)
	// Open returns the questions that wait for their answers, the oldest first.
	Open() []permission.Open
}

// Grants is what the commands need of the store for what was allowed for longer than once.
type Grants interface {
	Grants(ctx context.Context, session string) ([]domain.Grant, error)
	Revoke(ctx context.Context, g domain.Grant) (int64, error)
}

const noQuestion = "No question has this id. It may be over."

// answer answers a question of claude's. Who may is for the question to say.
func (d desk) answer(ctx context.Context, call Call) (string, error) {
	word := firstWord(call.Args)
	id, ok := permission.ID(word)
	if !ok {
		return "Which question? Give the ID that it shows: `/answer ID ANSWER`.", nil
	}
	told, known, err := d.host.Questions.Answer(ctx, call.Caller, id, strings.TrimSpace(call.Args[len(word):]))
	if err != nil || known {
		return told, err
	}
	return noQuestion, nil
}

// verdict answers a question with yes or no, where a command names one; else it is about somebody who wants to be let in.
func (d desk) verdict(ctx context.Context, call Call, standing string) (told string, known bool, err error) {
	word := firstWord(call.Args)
	id, ok := permission.ID(word)
	if !ok || d.host.Plugins.Enabled(word) {
		return "", false, nil
	}
	rest := strings.TrimSpace(call.Args[len(word):])
	if standing == "no" {
		rest = strings.TrimSpace(standing + " " + rest)
	} else if rest == "" {
		rest = standing
	}
	told, known, err = d.host.Questions.Answer(ctx, call.Caller, id, rest)
	if err == nil && !known {
		return noQuestion, true, nil
	}
	return told, known, err
}

// grants lists what was allowed in the conversation for longer than once, or takes it back.
func (d desk) grants(ctx context.Context, call Call) (string, error) {
	held, err := d.store.Grants(ctx, call.Caller.Session)
	if err != nil {
		return "", err
	}
	words := strings.Fields(call.Args)
	switch {
	case len(words) == 0:
		return grantList(call, held), nil
	case len(words) == 1 && strings.EqualFold(words[0], "revoke"):
		return "/grants revoke needs a number of the list, or all.", nil
	case len(words) != 2 || !strings.EqualFold(words[0], "revoke"):
		return unknown("grants", call.Args, "Options: revoke NUMBER, revoke all."), nil
	case strings.EqualFold(words[1], "all"):
		n, err := d.store.Revoke(ctx, domain.Grant{Session: call.Caller.Session})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("Taken back: %d. Claude asks again.", n), nil
	}
	n, err := strconv.Atoi(words[1])
	if err != nil || n < 1 || n > len(held) {
		return fmt.Sprintf("There is no number %s. /grants lists them.", code(words[1])), nil
	}
	if _, err := d.store.Revoke(ctx, held[n-1]); err != nil {
		return "", err
	}
	return fmt.Sprintf("Taken back: %s. Claude asks again.", rule(held[n-1].Rule)), nil
}

func grantList(call Call, held []domain.Grant) string {
	if len(held) == 0 {
		return "Nothing was allowed here for longer than once."
	}
	var b strings.Builder
	b.WriteString("**What Claude may do here unasked**\n")
	for i, g := range held {
		span := "always"
		if g.ClaudeSession != "" {
			span = "in one conversation"
			if g.ClaudeSession != call.Session.ClaudeSession {
				span = "in a conversation that is over"
			}
		}
		fmt.Fprintf(&b, "\n%d. %s, %s, for %s (allowed by %s)", i+1, rule(g.Rule), span, access.Audience(g.Authority), code(g.By))
	}
	b.WriteString("\n\n`/grants revoke NUMBER` or `/grants revoke all` takes it back.")
	return b.String()
}

// rule is a rule as people read it. One that stands for a single input is a digest, with what that is behind it.
func rule(r string) string {
	if !strings.HasPrefix(r, "=") {
		return verbatim(r)
	}
	_, what, _ := strings.Cut(r, " ")
	tool, input, _ := strings.Cut(what, " ")
	switch {
	case what == "":
		return "one input of a tool, which an earlier version did not note"
	case input == "":
		return "exactly " + tool
	default:
		return "exactly " + tool + " " + verbatim(input)
	}
}

// verbatim returns a rule as inline code, as it is: two rules must not look the same.
func verbatim(rule string) string {
	marks := "`"
	for strings.Contains(rule, marks) {
		marks += "`"
	}
	if len(marks) > 1 {
		return marks + " " + rule + " " + marks
	}
	return marks + rule + marks
}
