package core_test

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/rpc"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The same with answers that are shown while they are written, by messages that are edited: whatever was killed, in the end each
// answer stands in its chat exactly once and nothing that was shown of it besides, and each message shows that it is done.

const previewChats, previewAhead = 4, 2

// previewPoints are the places in the host that this test names.
var previewPoints = []string{"accepted", "result", "sent", "early", "edited", "completed"}

// Behaviour: answer-once, reaction.
func TestCrashWithPreviews(t *testing.T) {
	t.Parallel()
	kills := 8
	if long() {
		kills = 150
	}
	random, seed := crashSeed(t)
	t.Logf("CLAWHOST_CRASH_SEED=%d, %d kills", seed, kills)
	b := newBoard(t)
	w := newCrashWorld(t, random, crashHost{
		plugin: "clawhost-board", points: previewPoints,
		config: fmt.Sprintf(`
inbound { debounce = "0" }
queue {
  mode    = "queue"
  receipt = false
}
reply {
  stream       = "preview"
  ack_reaction = "status"
}
access { dm = "open" }
plugin "board" {
  config { board = %q }
}
`, b.address),
	})
	defer w.close(t)
	for range kills / killsInARow {
		b.begin()
		for range killsInARow {
			w.kill(t)
		}
		b.rest()
		w.keepUp(t, func() { b.await(t) })
	}
	stood := b.texts()
	w.end(t)
	for chat, problem := range b.problems() {
		t.Errorf("chat %s: %s", chat, problem)
	}
	if now := b.texts(); !maps.EqualFunc(stood, now, slices.Equal) {
		t.Errorf("what stood at the end changed when the host went down:\n%q\n%q", stood, now)
	}
	if b.edits == 0 || b.repeats == 0 && long() {
		t.Errorf("nothing was shown: %d edits, %d repeats", b.edits, b.repeats)
	}
	w.report(t, fmt.Sprintf("%d answers, shown by %d edits: 0 lost, 0 doubled, no preview left", len(b.written), b.edits), b.repeats)
}

// board is a network in the test's process, with people who write and read there. Its messages can be changed.
type board struct {
	address string

	mu      sync.Mutex
	changed *sync.Cond
	written []*order // what people wrote, in order
	taken   int      // how many of them the host has
	hanging []*Note  // what the host put up, in order
	keys    map[string]bool
	on      bool // people go on writing once they are answered
	edits   int
	repeats int // messages that were put up again under their key
	wrong   []string
	closed  bool
}

// Note is a message on the board, or a change of one.
type Note struct {
	Chat, ID, Text string
	Buttons        bool
}

// order is what a person wrote.
type order struct {
	Note
	number   int
	reaction string
}

func newBoard(t *testing.T) *board {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &board{address: l.Addr().String(), keys: map[string]bool{}}
	b.changed = sync.NewCond(&b.mu)
	server := rpc.NewServer()
	if err := server.RegisterName("Board", Board{b}); err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { server.ServeConn(conn) }) // until the channel hangs up
		}
	})
	t.Cleanup(func() {
		l.Close()
		b.mu.Lock()
		b.closed = true
		b.changed.Broadcast()
		b.mu.Unlock()
		serving.Wait()
	})
	return b
}

// begin writes the first messages of each chat, or its next ones, and has people go on writing once they are answered.
func (b *board) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.on = true
	last := map[string]int{}
	for _, o := range b.written {
		last[o.Chat] = max(last[o.Chat], o.number)
	}
	for n := range previewAhead {
		for i := range previewChats {
			chat := fmt.Sprint("chat", i)
			b.ask(chat, last[chat]+n+1)
		}
	}
}

func (b *board) ask(chat string, n int) {
	id := fmt.Sprintf("%s-%d", chat, n)
	text := fmt.Sprintf(`[[stub {"token_delay_ms": 4, "before": "I think of one.", "tool": "sleep 0.1", "answer": %q}]] tell me story %d`, story(n), n)
	b.written = append(b.written, &order{Note: Note{Chat: chat, ID: id, Text: text}, number: n})
	b.changed.Broadcast()
}

// rest has people write no more.
func (b *board) rest() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.on = false
}

// Board is what the channel asks of the board.
type Board struct{ board *board }

// Read returns the nth message that the host has not taken, once there is one.
func (s Board) Read(n int, read *Note) error {
	b := s.board
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.written) <= n && !b.closed {
		b.changed.Wait()
	}
	if b.closed {
		return errors.New("the board is closed")
	}
	*read = b.written[n].Note
	return nil
}

// Taken says that the host has the nth message.
func (s Board) Taken(n int, _ *struct{}) error {
	s.board.mu.Lock()
	defer s.board.mu.Unlock()
	s.board.taken = max(s.board.taken, n+1)
	return nil
}

// Put puts a message up.
func (s Board) Put(put Note, _ *struct{}) error {
	b := s.board
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.changed.Broadcast()
	if b.keys[put.ID] {
		b.repeats++
		return nil
	}
	b.keys[put.ID] = true
	b.hanging = append(b.hanging, &put)
	return nil
}

// Change gives a message another text.
func (s Board) Change(to Note, found *bool) error {
	b := s.board
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.changed.Broadcast()
	b.edits++
	for _, h := range b.hanging {
		if h.ID == to.ID && h.Chat == to.Chat {
			h.Text, h.Buttons, *found = to.Text, to.Buttons, true
		}
	}
	return nil
}

// Remove takes a message down.
func (s Board) Remove(what Note, found *bool) error {
	b := s.board
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.changed.Broadcast()
	before := len(b.hanging)
	b.hanging = slices.DeleteFunc(b.hanging, func(h *Note) bool { return h.ID == what.ID && h.Chat == what.Chat })
	*found = len(b.hanging) < before
	return nil
}

// React puts an emoji on a person's message. A person whose message shows that all is done goes on writing.
func (s Board) React(to Note, found *bool) error {
	b := s.board
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.changed.Broadcast()
	for _, w := range b.written {
		if w.ID != to.ID {
			continue
		}
		if *found = true; b.on && to.Text == done && w.reaction != done {
			b.ask(w.Chat, w.number+previewAhead)
		}
		w.reaction = to.Text
	}
	return nil
}

const done = "👍"

// unfinished reports whether a message does not show that it is done, or its answer's end is not there: that may have to wait for the
// channel's restart. The board is locked.
func (b *board) unfinished(n *order) bool {
	end := fmt.Sprintf("The end of story %d.", n.number)
	return n.reaction != done || !slices.ContainsFunc(b.hanging, func(h *Note) bool { return h.Chat == n.Chat && strings.Contains(h.Text, end) })
}

// await returns when every message is done and nothing is shown any more, or time is up.
func (b *board) await(t *testing.T) {
	t.Helper()
	late := time.AfterFunc(drainTime, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.wrong = append(b.wrong, "gave up waiting for answers")
		b.changed.Broadcast()
	})
	defer late.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.wrong) == 0 && (slices.ContainsFunc(b.written, b.unfinished) ||
		slices.ContainsFunc(b.hanging, func(n *Note) bool { return n.Buttons })) {
		b.changed.Wait()
	}
}

// texts are what hangs on the board, by chat.
func (b *board) texts() map[string][]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	texts := map[string][]string{}
	for _, h := range b.hanging {
		texts[h.Chat] = append(texts[h.Chat], h.Text)
	}
	return texts
}

// problems compares what hangs in each chat with what should be there.
func (b *board) problems() map[string]error {
	found := map[string]error{}
	texts := b.texts()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, wrong := range b.wrong {
		found["-"] = errors.New(wrong)
	}
	expected := map[string]int{}
	for _, w := range b.written {
		expected[w.Chat] = max(expected[w.Chat], w.number)
		if w.reaction != done {
			found[w.Chat] = fmt.Errorf("message %s shows %q", w.ID, w.reaction)
		}
	}
	for chat, n := range expected {
		var read reader
		for _, text := range texts[chat] {
			if _, _, err := read.hears(text); err != nil {
				found[chat] = err
			}
		}
		for _, problem := range read.problems(n) {
			found[chat] = fmt.Errorf("%s\n%s", problem, strings.Join(texts[chat], "\n--\n"))
		}
	}
	return found
}
