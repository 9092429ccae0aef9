// Command witness observes messages and follows transcripts: "/seen 3 6" answers once it has seen 3 messages and 6 entries. At
// a message that says "dwell" it does not return until the host gives it up. "/whose" answers with the agents that it was told of.
package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/clawhost/clawhost/sdk"
)

// witness counts.
type witness struct {
	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at each change
	messages int
	entries  map[int64]bool // by id: they may come again
	written  string         // the agent of the last message
	appended string         // the agent of the last entry
}

func main() {
	w := &witness{changed: make(chan struct{}), entries: map[int64]bool{}}
	sdk.Serve("witness", "1.0.0", sdk.OnMessage(w.message), sdk.OnTranscript(w.transcript),
		sdk.Command(sdk.CommandSpec{Name: "seen", Usage: "/seen 1 2", Summary: "Wait for messages and entries."}, w.seen),
		sdk.Command(sdk.CommandSpec{Name: "whose", Summary: "Say which agents there were."}, w.whose))
}

func (w *witness) message(ctx context.Context, m sdk.MessageReceived) error {
	w.count(func() { w.messages, w.written = w.messages+1, m.Caller.Agent+" "+filepath.Base(m.Caller.Workspace) })
	if m.Message.Text == "dwell" {
		<-ctx.Done()
	}
	return nil
}

func (w *witness) transcript(_ context.Context, appended sdk.TranscriptAppended) error {
	w.count(func() {
		for _, e := range appended.Entries {
			w.entries[e.ID] = true
		}
		w.appended = appended.Agent
	})
	return nil
}

func (w *witness) count(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *witness) seen(ctx context.Context, call sdk.CommandCall) (string, error) {
	var messages, entries int
	if _, err := fmt.Sscan(call.Args, &messages, &entries); err != nil {
		return "", fmt.Errorf("read the counts: %w", err)
	}
	for {
		w.mu.Lock()
		enough, changed := w.messages >= messages && len(w.entries) >= entries, w.changed
		said := fmt.Sprintf("%d messages, %d entries", w.messages, len(w.entries))
		w.mu.Unlock()
		if enough {
			return said, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

func (w *witness) whose(_ context.Context, call sdk.CommandCall) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("asked %s %s, written %s, appended %s", call.Caller.Agent, filepath.Base(call.Caller.Workspace), w.written, w.appended), nil
}
