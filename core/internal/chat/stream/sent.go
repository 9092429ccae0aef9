package stream

import (
	"slices"
	"strings"
	"sync"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/core/internal/text/chunk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// sent is what a run has put into its chat: texts, by the stream, and what the agent has sent by its tool.
type sent struct {
	// The stream's goroutine owns the texts until it has ended. It changes what was said only while it holds sending;
	// preview and stored belong to it alone.
	texts
	sending chan struct{} // buffers one: a lock

	mu    sync.Mutex
	tools []domain.SentByTool   // sent by the agent's tool, and the files that were sent before the answer
	dealt []domain.OutgoingFile // of the conversation's folder, sent by this attempt
	ahead int                   // how many files were sent before the answer, by this attempt
}

// texts is what was sent of a run's texts.
type texts struct {
	said      string   // of the current text
	stored    string   // what the store has as said
	files     int      // how many files of the current text were taken
	restarted bool     // something was sent that the current text does not continue
	begun     bool     // anything was sent
	whole     []string // texts before the answer that were sent completely
	preview   int64    // the item that shows the text after said; zero: none
}

func newSent(run *domain.Run) *sent {
	return &sent{
		texts:   texts{said: run.Said, stored: run.Said, begun: run.Said != "", preview: run.Preview},
		sending: make(chan struct{}, 1), tools: slices.Clone(run.Sent),
	}
}

// Begun reports whether anything of the run's texts was sent.
func (s *sent) Begun() bool { return s.begun }

// SentWhole reports whether a text before the answer was sent completely.
func (s *texts) SentWhole() bool { return len(s.whole) > 0 }

// replace puts items in place of the preview: the first one edits it. Without items it is deleted.
func (s *texts) replace(to chat.Address, items []domain.OutboxItem) []domain.OutboxItem {
	switch {
	case s.preview == 0:
		return items
	case len(items) == 0:
		items = []domain.OutboxItem{{To: to}} // an edit without content deletes
	default:
		items[0].OrSend = true
	}
	items[0].Edits = s.preview
	return items
}

// follow reports whether the current text continues what was said, so that more of it can be sent. A shorter one is
// awaited; a different one starts over.
func (s *texts) follow(a answer.Answer, over bool) bool {
	switch {
	case strings.HasPrefix(a.Text, s.said):
		return true
	case !over && strings.HasPrefix(s.said, a.Text):
		return false
	}
	s.said, s.files, s.restarted = "", 0, true
	return true
}

// left returns the unsent part of a complete text, as it appears in the chat.
func (s *texts) left(a answer.Answer) string {
	if s.said == "" && slices.Contains(s.whole, a.Text) {
		return ""
	}
	s.follow(a, true)
	rest := chunk.Rest(a.Text, len(s.said))
	if s.restarted && rest != "" {
		rest = wording.AnswerRestarted + "\n\n" + rest
	}
	return rest
}

// pass continues with the text after a complete one.
func (s *texts) pass(t text) {
	if s.said != "" && s.follow(t.Answer, true) && s.said != "" && chunk.Rest(t.Text, len(s.said)) == "" {
		s.whole = append(slices.Clip(s.whole), t.Text)
	}
	s.said, s.files = t.remains(s.said), 0
	if s.said == t.past.Text {
		s.files = len(t.past.Media)
	}
}

// Held is what a chat has while nothing of the turn's texts is sent.
type Held struct{ stream *Stream }

// Has reports whether the stream has sent a text before a tool, or a part of it, so that the chat gets the rest too. Spaces are
// ignored.
func (h Held) Has(text string) bool { return h.stream.has(text) }

// Add records what the agent has sent by its tool, with the files of the conversation's folder that it contains.
func (h Held) Add(said domain.SentByTool, dealt []domain.OutgoingFile) { h.stream.add(said, dealt) }

// Release lets the turn's texts be sent again.
func (h Held) Release() { <-h.stream.sending }

func (s *sent) add(more domain.SentByTool, dealt []domain.OutgoingFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools, s.dealt = append(s.tools, more), append(s.dealt, dealt...)
}

// addAhead adds files that were sent before the answer.
func (s *sent) addAhead(more domain.SentByTool, dealt []domain.OutgoingFile) {
	s.add(more, dealt)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += len(more.Files)
}

// ByTool reports whether the agent has sent this text by its tool; if the text is not complete, whether it has sent one that
// begins with it. Spaces are ignored. The answer does not repeat such a text.
func (s *sent) ByTool(text string, complete bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tools) == 0 {
		return false
	}
	words := oneSpaced(text)
	return words != "" && slices.ContainsFunc(s.tools, func(one domain.SentByTool) bool {
		was := oneSpaced(one.Text)
		return was == words || !complete && strings.HasPrefix(was, words)
	})
}

func oneSpaced(text string) string { return strings.Join(strings.Fields(text), " ") }

// Files are files that a chat has of a run.
type Files struct {
	Names []string              // identify each file and version
	Dealt []domain.OutgoingFile // those of the conversation's folder, to be deleted after the turn: until then the agent may name them
	Ahead int                   // how many were sent before the answer, by this attempt
}

// Files returns the files that were sent.
func (s *sent) Files() Files {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := Files{Dealt: slices.Clone(s.dealt), Ahead: s.ahead}
	for _, one := range s.tools {
		f.Names = append(f.Names, one.Files...)
	}
	return f
}
