package main

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Limits of a search.
const (
	maxQuery = 256 // bytes
	maxFound = 50
	// The characters of an excerpt, and those of it before what was found.
	maxExcerpt  = 120
	maxLeadUpTo = 30
)

// found is a message in which all words of a search occur, or a conversation in whose title they do.
type found struct {
	Conversation chat.ThreadID `json:"conversation"`
	Title        string        `json:"title"`
	At           time.Time     `json:"at"`
	Seq          int64         `json:"seq,omitempty"`     // of the message; zero: the title was found
	Excerpt      string        `json:"excerpt,omitempty"` // of the message's text
}

// getSearch returns what contains all words of a text: at most maxFound conversations and messages, of which there are no more
// than the journal holds.
func (a *api) getSearch(w http.ResponseWriter, r *http.Request) {
	text := r.URL.Query().Get("text")
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 0 || len(text) > maxQuery {
		refuse(w, http.StatusBadRequest, "A search has 1 to 256 bytes of text.")
		return
	}
	respond(w, http.StatusOK, map[string]any{"found": a.journal.containing(words)})
}

// containing returns the conversations whose titles contain all words, then the messages that do, newest first. The words are in
// lower case.
func (j *journal) containing(words []string) []found {
	j.mu.Lock()
	records, threads := slices.Clone(j.records), maps.Clone(j.threads)
	j.mu.Unlock()
	all := []found{}
	for id, c := range threads {
		if containsAll(strings.ToLower(c.Title), words) {
			all = append(all, found{Conversation: id, Title: c.Title, At: c.Began})
		}
	}
	slices.SortFunc(all, func(a, b found) int { return b.At.Compare(a.At) })
	for _, r := range slices.Backward(records) {
		if len(all) >= maxFound {
			break
		}
		if lower := strings.ToLower(r.Text); containsAll(lower, words) {
			all = append(all, found{r.Thread, threads[r.Thread].Title, r.At, r.Seq, excerpt(r.Text, lower, words[0])})
		}
	}
	return all[:min(len(all), maxFound)]
}

func containsAll(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// excerpt returns the characters of a text around a word, on one line. Lower is the text in lower case, which has as many
// characters.
func excerpt(text, lower, word string) string {
	before, _, _ := strings.Cut(lower, word)
	at := utf8.RuneCountInString(before)
	characters := []rune(text)
	begin := max(0, min(at, len(characters))-maxLeadUpTo)
	end := min(len(characters), begin+maxExcerpt)
	cut := strings.Join(strings.Fields(string(characters[begin:end])), " ")
	if begin > 0 {
		cut = "…" + cut
	}
	if end < len(characters) {
		cut += "…"
	}
	return cut
}
