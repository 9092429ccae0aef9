package view

import (
	"slices"
	"strings"
	"sync"

	"github.com/clawhost/clawhost/core/internal/domain"
)

// sent is what the agent has sent by tool to the turn's own chat, and the files that were sent before the answer. The
// answer does not repeat it.
type sent struct {
	mu    sync.Mutex
	all   []domain.SentByTool
	dealt []domain.OutgoingFile // by this attempt
	ahead int                   // how many files were sent before the answer, by this attempt
}

func (s *sent) add(more domain.SentByTool, dealt []domain.OutgoingFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all, s.dealt = append(s.all, more), append(s.dealt, dealt...)
}

// addAhead adds files that were sent before the answer.
func (s *sent) addAhead(more domain.SentByTool, dealt []domain.OutgoingFile) {
	s.add(more, dealt)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += len(more.Files)
}

// wentAhead returns how many files were sent before the answer.
func (s *sent) wentAhead() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ahead
}

// has reports whether this text was sent; if it is not complete, whether a text was sent that begins with it. Spaces
// are ignored.
func (s *sent) has(text string, complete bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) == 0 {
		return false
	}
	words := oneSpaced(text)
	return words != "" && slices.ContainsFunc(s.all, func(one domain.SentByTool) bool {
		was := oneSpaced(one.Text)
		return was == words || !complete && strings.HasPrefix(was, words)
	})
}

func oneSpaced(text string) string { return strings.Join(strings.Fields(text), " ") }

// files returns the names of the files that were sent, and those to delete from the conversation's folder after the
// turn: until then the agent may name them.
func (s *sent) files() (names []string, dealt []domain.OutgoingFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.all {
		names = append(names, one.Files...)
	}
	return names, slices.Clone(s.dealt)
}
