package core

import (
	"slices"
	"strings"
	"sync"

	"github.com/clawhost/clawhost/core/internal/domain"
)

// told is what a turn's agent has sent to the turn's own chat by a tool, and the files that were sent ahead of the answer. It is not
// sent again with the answer.
type told struct {
	mu    sync.Mutex
	all   []domain.SentByTool
	dealt []domain.OutgoingFile // by this attempt
	ahead int                   // how many files were sent ahead of the answer, by this attempt
}

func (t *told) add(more domain.SentByTool, dealt []domain.OutgoingFile) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all, t.dealt = append(t.all, more), append(t.dealt, dealt...)
}

// addAhead adds files that were sent ahead of the answer.
func (t *told) addAhead(more domain.SentByTool, dealt []domain.OutgoingFile) {
	t.add(more, dealt)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ahead += len(more.Files)
}

// wentAhead is how many files were sent ahead of the answer.
func (t *told) wentAhead() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ahead
}

// has tells whether this very text was sent; of one that is not over, whether it is the beginning of one that was. Spaces do
// not count.
func (t *told) has(text string, over bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.all) == 0 {
		return false
	}
	words := oneSpaced(text)
	return words != "" && slices.ContainsFunc(t.all, func(s domain.SentByTool) bool {
		was := oneSpaced(s.Text)
		return was == words || !over && strings.HasPrefix(was, words)
	})
}

func oneSpaced(text string) string { return strings.Join(strings.Fields(text), " ") }

// files are those that were sent, and of them what is to be removed from the conversation's folder once the turn is over: till
// then the agent may name them.
func (t *told) files() (names []string, dealt []domain.OutgoingFile) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.all {
		names = append(names, s.Files...)
	}
	return names, slices.Clone(t.dealt)
}
