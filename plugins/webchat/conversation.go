package main

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/markdown"
)

const (
	maxConversations = 100
	maxTitle         = 80      // characters
	maxMarkup        = 1 << 10 // bytes of a text from which a title is taken
	// firstTitle and laterTitle are the titles of conversations that have none of their own.
	firstTitle = "Main"
	laterTitle = "Conversation"
)

var (
	// errNoConversation is returned for a conversation that does not exist.
	errNoConversation = errors.New("no such conversation")
	// errManyConversations is returned instead of creating one more.
	errManyConversations = errors.New("there are too many conversations")
)

// conversation has a session of the host. The first one has an empty id, always exists and is the direct chat; each other
// is a thread of it.
type conversation struct {
	ID    chat.ThreadID `json:"id"`
	Title string        `json:"title,omitempty"`
	// Provisional says that the user's next message that is no command gives the title.
	Provisional bool      `json:"provisional,omitempty"`
	Began       time.Time `json:"began"`
	Deleted     bool      `json:"deleted,omitempty"` // with all of its messages so far
}

// summary is a conversation in the page's list.
type summary struct {
	ID    chat.ThreadID `json:"id"`
	Title string        `json:"title"`
	At    time.Time     `json:"at"`   // the time of the last message
	Last  int64         `json:"last"` // the Seq of the agent's newest message with a notification
}

// conversations returns all conversations, and a number that changes whenever one is created, renamed or deleted.
func (j *journal) conversations() (list []summary, version int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	index := make(map[chat.ThreadID]int)
	for id, c := range j.threads {
		index[id] = len(list)
		list = append(list, summary{ID: id, Title: c.Title, At: c.Began})
	}
	for _, r := range j.records {
		s := &list[index[r.Thread]]
		s.At = r.At
		if r.From == agent && !r.Silent {
			s.Last = r.Seq
		}
	}
	return list, j.listed
}

// hasConversation reports whether a conversation exists.
func (j *journal) hasConversation(id chat.ThreadID) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, ok := j.threads[id]
	return ok
}

// rename sets a conversation's title.
func (j *journal) rename(id chat.ThreadID, title string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	c, ok := j.threads[id]
	if !ok {
		return errNoConversation
	}
	c.Title, c.Provisional = titleOf(title), false
	return j.note(c)
}

// forget deletes a conversation with its messages.
func (j *journal) forget(id chat.ThreadID) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	c, ok := j.threads[id]
	if !ok || id == "" {
		return errNoConversation
	}
	c.Deleted = true
	return j.note(c)
}

// note stores the state of a conversation.
func (j *journal) note(c conversation) error {
	if err := j.write(line{record: record{Rev: j.rev + 1}, Conversation: &c}); err != nil {
		return err
	}
	j.listed = j.rev
	j.apply(c)
	if err := j.trim(); err != nil {
		return err
	}
	j.changed.notify()
	return nil
}

// apply updates the state in memory.
func (j *journal) apply(c conversation) {
	if !c.Deleted {
		j.threads[c.ID] = c
		return
	}
	delete(j.threads, c.ID)
	kept := j.records[:0]
	for _, r := range j.records {
		if r.Thread == c.ID {
			j.lose(r)
		} else {
			kept = append(kept, r)
		}
	}
	clear(j.records[len(kept):])
	j.records = kept
}

// begin returns the line that creates a record's conversation, if it does not exist, or that gives it a title, if it has none
// of its own yet.
func (j *journal) begin(r record) ([]line, error) {
	c, ok := j.threads[r.Thread]
	switch {
	case ok && !(c.Provisional && r.From == user && r.Text != "" && !isCommand(r.Text)):
		return nil, nil
	case !ok && len(j.threads) >= maxConversations:
		return nil, errManyConversations
	case !ok:
		c = conversation{ID: r.Thread, Title: laterTitle, Provisional: true, Began: r.At}
	}
	switch {
	case r.From == user && r.Text != "":
		c.Title, c.Provisional = titleOf(withoutMarkup(r.Text)), isCommand(r.Text)
	case r.From == user && len(r.Files) > 0:
		c.Title, c.Provisional = titleOf(r.Files[0].Name), false
	}
	return []line{{record: record{Rev: j.rev + 1}, Conversation: &c}}, nil
}

// commandShape matches a text that begins like a command: with a slash and one word.
var commandShape = regexp.MustCompile(`^/[A-Za-z0-9_-]+(\s|$)`)

func isCommand(text string) bool { return commandShape.MatchString(strings.TrimSpace(text)) }

// withoutMarkup returns the beginning of a text, of which Markdown has been removed.
func withoutMarkup(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > maxMarkup {
		text = strings.ToValidUTF8(text[:maxMarkup], "")
	}
	plain, _ := markdown.ToEntities(text, limits.Text)
	return plain
}

// titleOf returns a title for a text: the beginning of its first line.
func titleOf(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	first = strings.Join(strings.Fields(strings.ToValidUTF8(first, "")), " ")
	if runes := []rune(first); len(runes) > maxTitle {
		first = strings.TrimSpace(string(runes[:maxTitle-1])) + "…"
	}
	if first == "" {
		return laterTitle
	}
	return first
}
