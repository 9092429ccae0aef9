package sdktest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// fakeNetwork is a chat network in memory, with every feature.
type fakeNetwork struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change
	post    []*delivery   // to the channel, in order
	shown   []*posted     // the channel's messages, in order
	refuses map[chat.ID]chat.Reason
	fails   chat.Reason // the next message
	cuts    bool        // the next message arrives, but the channel gets no response
	menu    []string
	typed   map[chat.ID]bool
	drafts  map[chat.ID]string
	marks   map[chat.MessageID]string
	typists []chat.ID // whose chats the channel has not told yet
	away    bool
	revoked bool
	lives   int
	closed  chan struct{} // at the test's end
}

// delivery is an event caused by people.
type delivery struct {
	event        chat.Event
	text         string
	file, quoted *File
	acknowledged bool
}

// posted is a message of the channel.
type posted struct {
	chat.Outgoing
	id     chat.MessageID
	files  []string
	gone   bool
	pinned bool
	life   int // the run of the channel that sent it last
}

const (
	square chat.ID       = "the square" // a group
	corner chat.ThreadID = "the corner" // of the square
)

// neighbour is the prefix of the id of the person in a chat.
const neighbour = "neighbour at "

func newVillage() *fakeNetwork {
	return &fakeNetwork{
		changed: make(chan struct{}), closed: make(chan struct{}), refuses: map[chat.ID]chat.Reason{}, typed: map[chat.ID]bool{},
		drafts: map[chat.ID]string{}, marks: map[chat.MessageID]string{},
	}
}

// do changes the network and wakes all waiters.
func (v *fakeNetwork) do(change func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change()
	close(v.changed)
	v.changed = make(chan struct{})
}

func (v *fakeNetwork) bring(to chat.ID, l *delivery) {
	v.do(func() {
		l.event.Chat = chat.Chat{ID: to, Kind: chat.Direct}
		if to == square {
			l.event.Chat.Kind = chat.Group
		}
		l.event.ID = chat.EventID(fmt.Sprintf("v:%d", len(v.post)))
		l.event.Sender, l.event.At = chat.Sender{ID: chat.UserID(neighbour + to)}, time.Now()
		if m, ok := l.event.Body.(chat.Message); ok {
			m.ID = chat.MessageID(l.event.ID)
			l.event.Body = m
		}
		v.post = append(v.post, l)
	})
}

func (v *fakeNetwork) say(to chat.ID, m chat.Message) {
	v.bring(to, &delivery{text: m.Text, event: chat.Event{Body: m}})
}

func (v *fakeNetwork) Deliver(to chat.ID, text string) { v.say(to, chat.Message{Text: text}) }

func (v *fakeNetwork) written(text string) *delivery {
	for _, l := range v.post {
		if l.text == text {
			return l
		}
	}
	return nil
}

func (v *fakeNetwork) Acknowledged(text string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.written(text).acknowledged
}

func (v *fakeNetwork) sent(to chat.ID, thread chat.ThreadID) []*posted {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(v.shown), func(s *posted) bool { return s.gone || s.To.Chat != to || s.To.Thread != thread })
}

func (v *fakeNetwork) Polls(to chat.ID) []chat.Poll {
	var polls []chat.Poll
	for _, s := range v.sent(to, "") {
		if s.Poll != nil {
			polls = append(polls, *s.Poll)
		}
	}
	return polls
}

func textsOf(list []*posted) []string {
	var texts []string
	for _, s := range list {
		texts = append(texts, s.Text)
	}
	return texts
}

func (v *fakeNetwork) Sent(to chat.ID) []string { return textsOf(v.sent(to, "")) }

func (v *fakeNetwork) Refuse(to chat.ID) chat.Reason {
	v.do(func() { v.refuses[to] = chat.Forbidden })
	return chat.Forbidden
}

func (v *fakeNetwork) Fail(_ chat.ID, reason chat.Reason) bool {
	v.do(func() { v.fails = reason })
	return true
}

func (v *fakeNetwork) Cut(chat.ID) { v.do(func() { v.cuts = true }) }

func (v *fakeNetwork) Remove(_ chat.ID, id chat.MessageID) {
	v.do(func() { v.find(id).gone = true })
}

func (v *fakeNetwork) find(id chat.MessageID) *posted {
	for _, s := range v.shown {
		if s.id == id && !s.gone {
			return s
		}
	}
	return nil
}

func (v *fakeNetwork) Press(to chat.ID, id chat.MessageID, label string) {
	v.mu.Lock()
	buttons := slices.Concat(v.find(id).Buttons...)
	v.mu.Unlock()
	i := slices.IndexFunc(buttons, func(b chat.Button) bool { return b.Label == label })
	v.bring(to, &delivery{event: chat.Event{Body: chat.ButtonPress{MessageID: id, Data: buttons[i].Data}}})
}

func (v *fakeNetwork) Type(in chat.ID) { v.do(func() { v.typists = append(v.typists, in) }) }

func (v *fakeNetwork) React(to chat.ID, id chat.MessageID, emoji string) {
	v.bring(to, &delivery{event: chat.Event{Body: chat.Reaction{MessageID: id, Emoji: emoji}}})
}

func (v *fakeNetwork) Revise(to chat.ID, text, changed string) {
	v.bring(to, &delivery{event: chat.Event{Body: chat.Edited{ID: chat.MessageID(v.written(text).event.ID), Text: changed}}})
}

func (v *fakeNetwork) Retract(to chat.ID, text string) {
	v.bring(to, &delivery{event: chat.Event{Body: chat.Deleted{ID: chat.MessageID(v.written(text).event.ID)}}})
}

func (v *fakeNetwork) Menu() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.menu
}

func (v *fakeNetwork) Attach(to chat.ID, caption string, f File) {
	v.bring(to, &delivery{text: caption, file: &f, event: chat.Event{Body: chat.Message{Text: caption}}})
}

func (v *fakeNetwork) Answer(to chat.ID, answered, text string, asked bool) {
	l := &delivery{text: text, event: chat.Event{Body: chat.Message{Text: text, MentionsSelf: asked, ReplyTo: &chat.Quote{Text: answered}}}}
	v.mu.Lock()
	if of := v.written(answered); of != nil {
		l.quoted = of.file
	} else {
		l.quoted = &File{Name: "mine"}
		l.event.Body.(chat.Message).ReplyTo.IsSelf = true
	}
	v.mu.Unlock()
	v.bring(to, l)
}

func (v *fakeNetwork) Files(to chat.ID) []string {
	var files []string
	for _, s := range v.sent(to, "") {
		files = append(files, s.files...)
	}
	return files
}

func (v *fakeNetwork) Typed(to chat.ID) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.typed[to]
}

func (v *fakeNetwork) Draft(to chat.ID) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.drafts[to]
}

func (v *fakeNetwork) Mark(_ chat.ID, id chat.MessageID) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.marks[id]
}

func (v *fakeNetwork) Pinned(to chat.ID) (texts []string) {
	for _, s := range v.sent(to, "") {
		if s.pinned {
			texts = append(texts, s.Text)
		}
	}
	return texts
}

func (*fakeNetwork) Group() chat.ID { return square }

func (*fakeNetwork) Members() ([]chat.UserID, bool) { return []chat.UserID{"anna", "bob"}, false }

func (v *fakeNetwork) Mention(text string) {
	v.say(square, chat.Message{Text: text, MentionsSelf: true})
}

func (*fakeNetwork) Thread() (chat.ID, chat.ThreadID) { return square, corner }

func (v *fakeNetwork) DeliverThread(text string) {
	v.bring(square, &delivery{text: text, event: chat.Event{Thread: corner, Body: chat.Message{Text: text}}})
}

func (v *fakeNetwork) SentThread() []string { return textsOf(v.sent(square, corner)) }

func (v *fakeNetwork) Leave() { v.do(func() { v.away = true }) }

func (v *fakeNetwork) Return() { v.do(func() { v.away = false }) }

func (v *fakeNetwork) Revoke() { v.do(func() { v.revoked = true }) }
