package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"github.com/clawhost/clawhost/plugins/whatsapp/whatsapptest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// unsteady is a host that takes each event once, and now and then none.
type unsteady struct {
	odds    float64 // that it takes none
	mu      sync.Mutex
	random  *rand.Rand
	known   map[chat.EventID]bool
	texts   map[chat.ID][]string
	taken   int
	again   int
	changed chan struct{}
}

func newUnsteady(seed uint64, odds float64) *unsteady {
	return &unsteady{
		odds: odds, random: rand.New(rand.NewPCG(seed, 1)), known: map[chat.EventID]bool{}, texts: map[chat.ID][]string{}, changed: make(chan struct{}),
	}
}

func (h *unsteady) Submit(ctx context.Context, e chat.Event) (chat.Verdict, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if h.random.Float64() < h.odds {
		return 0, errors.New("the host is gone")
	}
	if h.known[e.ID] {
		h.again++
		return chat.Duplicate, nil
	}
	h.known[e.ID] = true
	m, ok := e.Body.(chat.Message)
	if !ok {
		return chat.Rejected, nil
	}
	texts := strings.Split(m.Text, "\n") // Of an album there is one for each file.
	h.texts[e.Chat.ID] = append(h.texts[e.Chat.ID], texts...)
	h.taken += len(texts)
	close(h.changed)
	h.changed = make(chan struct{})
	return chat.Accepted, nil
}

// missing tells what of what was written has not come, and whether the plugin has acknowledged all the same.
func (h *unsteady) missing(t *testing.T, s *whatsapptest.Server, said map[chat.ID][]string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, texts := range said {
		for _, text := range texts {
			if !slices.Contains(h.texts[id], text) {
				t.Logf("%s has not come to chat %s", text, id)
			}
		}
	}
	t.Logf("%d messages are not acknowledged", s.Unacknowledged())
}

// await waits until so many messages have been taken.
func (h *unsteady) await(t *testing.T, n int) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for {
		h.mu.Lock()
		taken, changed := h.taken, h.changed
		h.mu.Unlock()
		if taken >= n {
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			t.Fatalf("the host has %d messages, want %d", taken, n)
		}
	}
}

// The fault test: people write to the account, alone and in a group, and the account answers, while everything goes
// wrong, over several lives of the plugin.
const (
	people = 5
	each   = 14 // messages of a person in a life
	ahead  = 8  // messages that wait for the account when people write on: each connection gets some of them through
)

// lives is how many lives of the plugin it goes through.
func lives() int {
	if os.Getenv("CLAWHOST_LONG") != "" {
		return 7
	}
	return 2
}

// TestFaults loses none and doubles none, and keeps the order where the network does.
// Behaviour: album-late, networks-faults, whatsapp-ack, whatsapp-undecryptable.
func TestFaults(t *testing.T) {
	t.Parallel()
	trouble := whatsapptest.Faults{
		Cut: 0.03, Close: 0.01, Duplicate: 0.05, Reorder: 0.03, Spoil: 0.02, Garbage: 0.03, Slow: 0.1, LoseAck: 0.02, Throttle: 0.02,
	}
	inOrder := trouble
	inOrder.Reorder, inOrder.Spoil = 0, 0
	for seed, faults := range map[uint64]whatsapptest.Faults{1: trouble, 2: inOrder} {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			withstands(t, seed, faults)
		})
	}
}

func withstands(t *testing.T, seed uint64, faults whatsapptest.Faults) {
	s := whatsapptest.New(t)
	folder := t.TempDir()
	adopt(t, s, folder)
	patient, stop := context.WithTimeout(t.Context(), 4*time.Minute)
	defer stop()
	in := newUnsteady(seed, 0.02)
	mortal := newMortal(t, in, s, folder)
	group := chatID(s.Group())
	said := map[chat.ID][]string{}
	// A person has to write first for the account to know them.
	for n := range people {
		s.Person(n + 1).Say("hello")
		said[chatID(s.Person(n+1).LID)] = []string{"hello"}
	}
	for life := range lives() {
		mortal.start()
		if life == 0 {
			in.await(t, people)
		}
		s.Fault(seed*100+uint64(life), faults)
		var busy sync.WaitGroup
		for n := range people {
			p := s.Person(n + 1)
			to := chatID(p.LID)
			for i := range each {
				text := fmt.Sprintf("%d.%d.%d", n, life, i)
				if i%4 == 3 {
					said[group] = append(said[group], text)
				} else {
					said[to] = append(said[to], text)
				}
			}
			busy.Go(func() {
				var album types.MessageID
				for i := range each {
					_ = s.AwaitUnacknowledged(patient, ahead)
					text := fmt.Sprintf("%d.%d.%d", n, life, i)
					switch i % 8 {
					case 3, 7:
						p.SendGroup(&waE2E.Message{Conversation: proto.String(text)})
					case 4, 5:
						if i%8 == 4 {
							album = p.Announce(types.EmptyJID, 2)
						}
						file := &waE2E.Message{ImageMessage: &waE2E.ImageMessage{Caption: proto.String(text)}}
						p.Send(whatsapptest.OfAlbum(album, i%8-4, file))
					default:
						p.Say(text)
					}
				}
			})
			busy.Go(func() {
				for i := range each {
					mortal.sendUntilDone(patient, fmt.Sprintf("%d/%d/%d", n, life, i), to, fmt.Sprintf("answer %d.%d", life, i))
				}
			})
		}
		busy.Wait()
		// The life ends in the middle of what was said, and the next one goes on.
		in.await(t, people+life*people*each+people*each/2)
		mortal.end(ending(life % 2))
	}
	mortal.start()
	s.Fault(0, whatsapptest.Faults{})
	t.Cleanup(func() {
		if t.Failed() {
			in.missing(t, s, said)
		}
	})
	in.await(t, people+lives()*people*each)
	if err := s.AwaitAcknowledged(patient); err != nil {
		t.Errorf("not all messages are acknowledged: %v", err)
	}
	disorder := faults.Reorder > 0
	for id, want := range said {
		got := in.texts[id]
		if disorder || id == group { // In the group people write side by side.
			slices.Sort(want)
			slices.Sort(got)
		}
		if !slices.Equal(got, want) {
			t.Errorf("chat %s: %d messages were written, %d came, or in another order:\n%s", id, len(want), len(got), cmp.Diff(want, got))
		}
	}
	out := 0
	for n := range people {
		times := map[string]int{}
		heard, err := s.Person(n+1).AwaitHeard(patient, lives()*each)
		if err != nil {
			t.Errorf("person %d heard %d messages: %v", n+1, len(heard), err)
		}
		var order []string
		for _, h := range heard {
			times[h.Text()]++
			order = append(order, h.Text())
		}
		if want := answers(); !disorder && !slices.Equal(order, want) {
			t.Errorf("person %d heard the answers in another order:\n%s", n+1, cmp.Diff(want, order))
		}
		for life := range lives() {
			for i := range each {
				if got := times[fmt.Sprintf("answer %d.%d", life, i)]; got != 1 {
					t.Errorf("person %d heard answer %d.%d %d times", n+1, life, i, got)
				}
				out++
			}
		}
	}
	mortal.end(inOrder)
	mortal.checkRaces()
	logins := s.Logins()
	t.Logf("%d messages in, %d out, over %d logins; %d came to the host again, %d were sent again by phones, %d could not be read", in.taken, out, logins, in.again, s.Retries(), s.Unread())
	// About one message in fifty is sent again: with two lives it may be none. Each life begins with a login.
	if disorder && s.Retries() == 0 && lives() > 2 || logins <= 2*lives() {
		t.Error("there was no trouble: the test shows nothing")
	}
}

// answers are what each person hears, in order.
func answers() (list []string) {
	for life := range lives() {
		for i := range each {
			list = append(list, fmt.Sprintf("answer %d.%d", life, i))
		}
	}
	return list
}
