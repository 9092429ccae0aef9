package core_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// mover goes from place to place by a command, and asks each time where it is. A place is an agent, or a folder. The command is
// written right before the next question, which must be answered in the new place; every fourth question is for another agent.
type mover struct {
	command string
	names   []string       // of the places
	folders []string       // their last parts
	where   map[int]string // where each question must be answered
}

var (
	standing = regexp.MustCompile(`(?s)in (\S+)\s+number-(\d+)-`)
	moved    = regexp.MustCompile(`answers? here now|I work in .* here now`)
)

// newAgentMover goes from agent to agent.
func newAgentMover() *mover {
	return &mover{command: "/agent", names: []string{"main", "app", "web"}, folders: []string{"work", "app", "web"}, where: map[int]string{1: "work"}}
}

// newFolderMover goes from folder to folder.
func newFolderMover() *mover {
	return &mover{command: "/cd", names: []string{"web", "one", "two"}, folders: []string{"web", "one", "two"}, where: map[int]string{1: "web"}}
}

func (m *mover) says(n int) string {
	asks := fmt.Sprintf(`[[stub {"tool": "pwd", "again": true, "say": "in $OUTPUT number-%d-"}]] where?`, n)
	if m.command == "/agent" && n%4 == 0 {
		other := n / 4 % len(m.names)
		m.where[n] = m.folders[other]
		return "/agent " + m.names[other] + " " + asks
	}
	return asks
}

func (*mover) ahead() int { return 1 }

func (m *mover) hears(text string) (answered []int, replies []line, err error) {
	if moved.MatchString(text) {
		return nil, nil, nil
	}
	found := standing.FindStringSubmatch(text)
	if found == nil {
		return nil, nil, fmt.Errorf("an answer to nothing: %q", text)
	}
	n, err := strconv.Atoi(found[2])
	if err != nil {
		return nil, nil, err
	}
	if at := filepath.Base(found[1]); at != m.where[n] {
		return nil, nil, fmt.Errorf("question %d was answered in %s, not in %s", n, at, m.where[n])
	}
	next := n % len(m.names)
	m.where[n+1] = m.folders[next]
	return []int{n}, []line{{id: "move-" + strconv.Itoa(n), text: strings.TrimSpace(m.command + " " + m.names[next])}}, nil
}

func (*mover) problems(int) []string { return nil }
