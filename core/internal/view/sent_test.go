package view

import (
	"slices"
	"testing"

	"github.com/clawhost/clawhost/core/internal/domain"
)

// A text counts as sent if this very text was, and one being written if it may become one.
// Behaviour: message-tool-once.
func TestWhatAToolHasTold(t *testing.T) {
	t.Parallel()
	var s sent
	if s.has("one", true) || s.has("", false) || len(s.all) > 0 {
		t.Error("something was told by nobody")
	}
	s.add(domain.SentByTool{Text: "one"}, nil)
	s.add(domain.SentByTool{Text: "The soup\n\nis **hot**.", Files: []string{"a", "b"}}, []domain.OutgoingFile{{Name: "b"}})
	s.add(domain.SentByTool{Files: []string{"c"}}, nil)
	for text, want := range map[string]struct{ over, growing bool }{
		"one": {true, true}, " one\n": {true, true}, "One": {}, "one more": {}, "": {}, " \n": {},
		"The so": {false, true}, "The soup is ": {false, true}, "The soup is **hot**.": {true, true}, "The soup is cold": {},
	} {
		if s.has(text, true) != want.over || s.has(text, false) != want.growing {
			t.Errorf("%q: told %t, in the making %t", text, s.has(text, true), s.has(text, false))
		}
	}
	if got, dealt := s.files(); !slices.Equal(got, []string{"a", "b", "c"}) || len(dealt) != 1 {
		t.Errorf("the files are %v", got)
	}
}
