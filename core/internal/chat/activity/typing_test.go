package activity_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/activity"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins/plugintest"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// here is the chat of the tests, which shows that an answer is being written every five seconds.
var here = chat.Address{Channel: "tg", Chat: "1"}

const every = 5 * time.Second

// network notes at which second a chat gets what.
type network struct {
	plugintest.Idle

	hangs   bool
	began   time.Time
	mu      sync.Mutex
	signals []string
}

func (n *network) Typing(ctx context.Context, _ chat.Address, active bool) error {
	if n.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.signals = append(n.signals, fmt.Sprintf("%d %v", int(time.Since(n.began).Seconds()), active))
	return nil
}

func (n *network) saw(t *testing.T, want ...string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if diff := cmp.Diff(want, n.signals); diff != "" {
		t.Error(diff)
	}
}

// chats are those of a network, which notes the signals from now on, and for the chat wait items of a store.
func (n *network) chats(t *testing.T, items int) (*activity.Chats, *store.Store) {
	t.Helper()
	s := storetest.Open(t)
	for i := range items {
		if _, err := s.Post(t.Context(), domain.KeyStillOpen.Of(fmt.Sprint(i)), domain.OutboxItem{To: here, Text: "hello"}); err != nil {
			t.Fatal(err)
		}
	}
	n.began = time.Now()
	registry := plugintest.Registry("tg")
	plugintest.Run(t, registry, "tg", plugintest.Channel(chat.Limits{}, n))
	return activity.NewChats(registry, s), s
}

// deliver delivers the next item. The chats do not learn of it.
func deliver(t *testing.T, s *store.Store) {
	t.Helper()
	due, err := s.ClaimDeliveries(t.Context(), "tg", 1)
	if err == nil {
		err = s.Delivered(t.Context(), due[0].ID, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// turn is one in the chat, in which the signal begins when the config says, and is repeated after a time.
func turn(typing string, interval time.Duration) *conversation.Run {
	return &conversation.Run{
		Run: &domain.Run{Head: domain.Queued{Message: domain.Message{Channel: here.Channel, Chat: chat.Chat{ID: here.Chat}}}},
		Conversation: &conversation.Conversation{
			Settings: config.Settings{Reply: config.Reply{Typing: typing, TypingInterval: interval}}, Limits: chat.Limits{TypingTTL: time.Hour},
		},
	}
}

// Behaviour: typing.
func TestTyping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n network
		chats, _ := n.chats(t, 0)
		shown := chats.Type(turn("instant", every))
		time.Sleep(12 * time.Second)
		shown.End()
		shown.End()
		chats.Wait()
		shown.Heard(true) // sealed
		n.saw(t, "0 true", "5 true", "10 true", "12 false")
	})
}

// Behaviour: typing.
func TestTypingFromTheFirstWord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n, silent network
		chats, _ := n.chats(t, 0)
		mutes, _ := silent.chats(t, 0)
		shown, mute := chats.Type(turn("message", every)), mutes.Type(turn("message", every))
		time.Sleep(7 * time.Second)
		shown.Heard(false)
		mute.Heard(false)
		time.Sleep(time.Second)
		shown.Heard(true)
		time.Sleep(6 * time.Second)
		shown.End()
		mute.End()
		chats.Wait()
		n.saw(t, "8 true", "13 true", "14 false")
		silent.saw(t)
	})
}

// Behaviour: typing.
func TestTypingOfASilentTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n network
		chats, _ := n.chats(t, 0)
		shown := chats.Type(turn("instant", time.Minute))
		time.Sleep(250 * time.Second)
		shown.Heard(false)
		time.Sleep(time.Minute)
		shown.End()
		chats.Wait()
		n.saw(t, "0 true", "60 true", "120 true", "250 true", "300 true", "310 false")
	})
}

// The signal stands until the answer has arrived, but not forever.
// Behaviour: typing.
func TestTypingUntilTheAnswerIsDelivered(t *testing.T) {
	t.Parallel()
	for name, delivered := range map[string]bool{"delivered": true, "stuck": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var n network
				chats, waiting := n.chats(t, 2)
				shown := chats.Type(turn("instant", every))
				time.Sleep(time.Second)
				shown.End()
				time.Sleep(2 * time.Second)
				chats.Delivered(chat.Address{Channel: "tg", Chat: "2"})
				deliver(t, waiting)
				chats.Delivered(here)
				time.Sleep(4 * time.Second)
				if delivered {
					deliver(t, waiting)
					chats.Delivered(here)
				}
				time.Sleep(10 * time.Second)
				chats.Wait()
				if delivered {
					n.saw(t, "0 true", "5 true", "7 false")
				} else {
					n.saw(t, "0 true", "5 true", "10 true", "11 false")
				}
			})
		})
	}
}

// A host that goes down does not wait for what is on its way.
func TestTypingIsTakenBackAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n network
		chats, _ := n.chats(t, 1)
		shown := chats.Type(turn("instant", every))
		time.Sleep(time.Second)
		shown.End()
		time.Sleep(time.Second)
		chats.Wait()
		n.saw(t, "0 true", "2 false")
	})
}

// A plugin that hangs does not keep the host from going down.
// Behaviour: shutdown.
func TestTypingSignalsThatHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := network{hangs: true}
		chats, _ := n.chats(t, 1)
		chats.Typing(here)
		for range 3 {
			chats.Type(turn("instant", every)).End()
		}
		began := time.Now()
		chats.Wait()
		if took := time.Since(began); took > time.Second {
			t.Errorf("waited %v for a plugin that hangs, want a second", took)
		}
	})
}
