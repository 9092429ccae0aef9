package stream_test

import (
	"slices"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/stream"
)

// A text counts as sent if this very text was, and one being written if it may become one.
// Behaviour: message-tool-once.
func TestWhatAToolHasSent(t *testing.T) {
	t.Parallel()
	s := stream.New(stream.Options{}, nil, &domain.Run{})
	if s.ByTool("one", true) || s.ByTool("", false) {
		t.Error("a text counts as sent though nothing was")
	}
	held := s.Hold()
	held.Add(domain.SentByTool{Text: "one"}, nil)
	held.Add(domain.SentByTool{Text: "The soup\n\nis **hot**.", Files: []string{"a", "b"}}, []domain.OutgoingFile{{Name: "b"}})
	held.Add(domain.SentByTool{Files: []string{"c"}}, nil)
	held.Release()
	for text, want := range map[string]struct{ complete, growing bool }{
		"one": {true, true}, " one\n": {true, true}, "One": {}, "one more": {}, "": {}, " \n": {},
		"The so": {false, true}, "The soup is ": {false, true}, "The soup is **hot**.": {true, true}, "The soup is cold": {},
	} {
		if s.ByTool(text, true) != want.complete || s.ByTool(text, false) != want.growing {
			t.Errorf("%q: sent %t, may become one %t", text, s.ByTool(text, true), s.ByTool(text, false))
		}
	}
	if got := s.Files(); !slices.Equal(got.Names, []string{"a", "b", "c"}) || len(got.Dealt) != 1 || got.Ahead != 0 {
		t.Errorf("the files are %+v", got)
	}
}
