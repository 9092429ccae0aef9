package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// TestFaults has more than a thousand messages and presses go both ways through faults of every kind, with restarts of the
// plugin in between: no message is lost and none doubled. Each chat keeps its order, unless Discord itself delivers in
// another one. A press may be lost with its session, because no one has it then; the host has those, and only those, of which
// their person learned that they work. One that was kept may come before messages that are caught up.
// Behaviour: networks-faults, discord-interaction.
func TestFaults(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			(&trial{seed: seed, disorder: seed%2 == 1}).run(t)
		})
	}
}

// How much goes through one trial, each way.
const (
	trialLives = 5
	trialEach  = 60 // messages of a chat in a life
	pressEvery = 10 // of them one is the press of a button
)

// trial is a plugin in trouble.
type trial struct {
	seed     uint64
	disorder bool

	said, heard, sent map[string][]string // by chat
	seen              map[chat.EventID]bool
	messages          int // of those that were heard

	mu      sync.Mutex
	pressed map[string]string // interactions by what was said with them
}

func (r *trial) run(t *testing.T) {
	f := start(t, nil)
	chats, buttons := []string{"70", "901"}, map[string]string{}
	r.said, r.heard, r.sent = map[string][]string{}, map[string][]string{}, map[string][]string{}
	r.seen, r.pressed = map[chat.EventID]bool{}, map[string]string{}
	for _, id := range chats {
		f.server.Say(id, "7", "hello "+id)
		f.host.NextEvent()
		receipt, err := f.host.Send(chat.Outgoing{Key: "buttons", To: chat.Address{Chat: chat.ID(id)}, Text: "press", Buttons: [][]chat.Button{{{Label: "b", Data: "b"}}}})
		if err != nil {
			t.Fatal(err)
		}
		buttons[id] = string(receipt.IDs[0])
	}
	f.server.Chaos(r.seed)
	if r.disorder {
		f.server.Disorder()
	}
	for life := range trialLives {
		if life > 0 {
			f.host.Shutdown()
			r.hear(f.host.Host.Events()...)
			f = f.again(t)
		}
		host := f.host
		var work sync.WaitGroup
		for i, id := range chats {
			for n := range trialEach {
				r.said[id] = append(r.said[id], fmt.Sprintf("%s %d %d", id, life, n))
				r.sent[id] = append(r.sent[id], fmt.Sprintf("answer %d %d %d", i, life, n))
			}
			mine, answers := r.said[id][life*trialEach:], r.sent[id][life*trialEach:]
			work.Go(func() {
				for n := range mine {
					if n%pressEvery == 0 {
						r.press(f, buttons[id], mine[n])
					} else {
						f.server.Say(id, "7", mine[n])
					}
					persist(t, host, chat.Outgoing{Key: answers[n], To: chat.Address{Chat: chat.ID(id)}, Text: answers[n]})
				}
			})
		}
		// Half of what a process is given it may leave to the next one.
		for r.messages < (2*life+1)*(trialEach-trialEach/pressEvery) {
			r.hear(f.host.NextEvent())
		}
		work.Wait()
	}
	f.server.Heal()
	for _, id := range chats { // Behind it nothing is to come.
		r.said[id] = append(r.said[id], "end")
		f.server.Say(id, "7", "end")
	}
	for r.messages < 2*trialLives*(trialEach-trialEach/pressEvery)+2 {
		r.hear(f.host.NextEvent())
	}
	acknowledged := map[string]bool{}
	for text, interaction := range r.pressed {
		_, acknowledged[text] = f.server.AnswerTo(interaction)
	}
	missing := func(text string) bool {
		return acknowledged[text] && !slices.Contains(r.heard["70"], text) && !slices.Contains(r.heard["901"], text)
	}
	for slices.ContainsFunc(slices.Collect(maps.Keys(r.pressed)), missing) {
		r.hear(f.host.NextEvent())
	}
	for text, interaction := range r.pressed {
		heard := slices.Contains(slices.Concat(r.heard["70"], r.heard["901"]), text)
		if _, answered := f.server.AnswerTo(interaction); heard != answered {
			t.Errorf("the host has %q: %t; its person was told that it works: %t", text, heard, answered)
		}
	}
	for _, id := range chats {
		r.compare(t, f, id, buttons[id])
	}
}

func (r *trial) press(f fixture, button, data string) {
	id := f.server.Press(button, "7", data)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pressed[data] = id
}

// hear notes events as a host does that remembers all.
func (r *trial) hear(events ...chat.Event) {
	for _, e := range events {
		text := ""
		switch body := e.Body.(type) {
		case chat.Message:
			text = body.Text
			if !strings.HasPrefix(text, "hello") && !r.seen[e.ID] {
				r.messages++
			}
		case chat.ButtonPress:
			text = body.Data
		}
		if strings.HasPrefix(text, "hello") || r.seen[e.ID] {
			continue
		}
		r.seen[e.ID] = true
		r.heard[string(e.Chat.ID)] = append(r.heard[string(e.Chat.ID)], text)
	}
}

func (r *trial) compare(t *testing.T, f fixture, id, button string) {
	lost := 0
	said := slices.DeleteFunc(r.said[id], func(text string) bool {
		_, isPress := r.pressed[text]
		if !isPress || slices.Contains(r.heard[id], text) {
			return false
		}
		lost++
		return true
	})
	t.Logf("chat %s: %d came, %d presses were lost with their sessions, %d answers", id, len(r.heard[id]), lost, len(r.sent[id]))
	inOrder := func(texts []string) []string {
		if r.disorder {
			return slices.Sorted(slices.Values(texts))
		}
		slices.SortStableFunc(texts, func(a, b string) int { // the presses behind the messages
			if r.pressed[a] != "" && r.pressed[b] != "" {
				return strings.Compare(r.pressed[a], r.pressed[b])
			}
			return cmp.Compare(min(len(r.pressed[a]), 1), min(len(r.pressed[b]), 1))
		})
		return texts
	}
	if diff := gocmp.Diff(inOrder(said), inOrder(r.heard[id])); diff != "" {
		t.Errorf("chat %s (-said +heard):\n%s", id, diff)
	}
	var got []string
	for _, m := range f.server.Replies(id) {
		if m.ID != button {
			got = append(got, m.Text)
		}
	}
	if !slices.Equal(r.sent[id], got) {
		t.Errorf("chat %s: %d answers were sent and %d came, or in another order", id, len(r.sent[id]), len(got))
	}
}

// persist sends as the host does: again under the same key while it may help.
func persist(t *testing.T, h *sdktest.Harness, out chat.Outgoing) {
	for range 100 {
		_, err := h.Send(out)
		if err == nil {
			return
		}
		f, ok := err.(*chat.Failure)
		if !ok || !f.Reason.Retryable() {
			t.Errorf("send: %v", err)
			return
		}
		network.Pause(t.Context(), f.RetryAfter)
	}
	t.Errorf("%s was never sent", out.Text)
}
