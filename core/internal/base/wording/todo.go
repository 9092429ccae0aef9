package wording

import (
	"fmt"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// maxTodos is how many lines a list of what the agent plans to do has at most.
const maxTodos = 12

// Todos is what the agent plans to do, a line each. Of a long list it is what comes next; the rest is counted.
func Todos(list []domain.Todo) string { return strings.Join(todoLines(list), "\n") }

func todoLines(list []domain.Todo) (lines []string) {
	done, left := 0, maxTodos
	if len(list) > maxTodos {
		for done < len(list) && list[done].State == domain.TodoDone {
			done++
		}
		if done = min(done, len(list)-(maxTodos-1)); done > 0 {
			lines, left = append(lines, fmt.Sprintf("☑ … %d done", done)), left-1
		}
	}
	list = list[done:]
	more := 0
	if len(list) > left {
		more = len(list) - (left - 1)
		list = list[:left-1]
	}
	for _, one := range list {
		switch text := Escape(one.Text); one.State {
		case domain.TodoDone:
			lines = append(lines, "☑ "+text)
		case domain.TodoDoing:
			lines = append(lines, "▶ "+or(Escape(one.Doing), text))
		default:
			lines = append(lines, "☐ "+text)
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more", more))
	}
	return lines
}

// todoCount says how much of a list is done.
func todoCount(list []domain.Todo) string {
	done := 0
	for _, one := range list {
		if one.State == domain.TodoDone {
			done++
		}
	}
	return fmt.Sprintf("%d of %d done", done, len(list))
}

// Worked is the line below the answer of a long turn.
type Worked struct {
	For                                  time.Duration
	Commands, Pages, Searches, Subagents int
	Changed                              *Changed // nil: no files
}

// String says how long the turn took and what it has done.
func (w Worked) String() string {
	var did []string
	add := func(n int, what string) {
		if n > 0 {
			did = append(did, what)
		}
	}
	add(w.Commands, plural(w.Commands, "command"))
	hint := ""
	if c := w.Changed; c != nil {
		add(c.Files, fmt.Sprintf("%s changed (%s)", plural(c.Files, "file"), lines(c.Added, c.Removed)))
		if hint = c.hint(); c.Delegated {
			did = append(did, "files changed by subagents")
		}
	}
	add(w.Pages, plural(w.Pages, "page")+" read")
	if w.Searches == 1 {
		did = append(did, "1 web search")
	} else {
		add(w.Searches, fmt.Sprintf("%d web searches", w.Searches))
	}
	add(w.Subagents, plural(w.Subagents, "subagent"))
	said := "Took " + minutes(w.For)
	if len(did) > 0 {
		said += ": " + strings.Join(did, ", ")
	}
	return said + "." + hint
}

// minutes is how long a turn of at least a minute took.
func minutes(d time.Duration) string {
	if d < time.Hour {
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d h %02d min", d/time.Hour, d%time.Hour/time.Minute)
}
