package sdk

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

const (
	// typingEvery is how often at most the host learns the same of a person in a chat.
	typingEvery = 3 * time.Second
	// typingWaiting limits the hints that wait for the host, typingKnown those that are remembered. Further ones are dropped.
	typingWaiting = 16
	typingKnown   = 1000
	// typingTimeout limits a call. After that time the hint is of no use.
	typingTimeout = 5 * time.Second
)

// typings tells the host who is typing, by one goroutine.
type typings struct {
	client  pluginv1.InboxClient
	log     *slog.Logger
	waiting chan typing

	mu   sync.Mutex
	told map[typist]time.Time // when the host was last to learn it
}

// typist is a person in a chat.
type typist struct {
	chat    chat.ID
	thread  chat.ThreadID
	person  chat.UserID
	stopped bool
}

// typing is a hint for the host.
type typing struct {
	who     typist
	at      time.Time
	request *pluginv1.TypingRequest
}

func newTypings(client pluginv1.InboxClient, log *slog.Logger) *typings {
	return &typings{client: client, log: log, waiting: make(chan typing, typingWaiting), told: map[typist]time.Time{}}
}

// add has the host told, unless it has just been, or is busy.
func (t *typings) add(hint chat.Typing) {
	request := wire.TypingToProto(hint)
	if _, err := wire.TypingFromProto(request); err != nil {
		t.log.Debug("dropping an invalid hint that a person is typing", "error", err)
		return
	}
	who, now := typist{hint.Chat.ID, hint.Thread, hint.Sender.ID, hint.Stopped}, time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.told) >= typingKnown {
		t.forgetOld(now)
	}
	last, known := t.told[who]
	if known && now.Sub(last) < typingEvery || len(t.told) >= typingKnown {
		return
	}
	select {
	case t.waiting <- typing{who, now, request}:
		t.told[who] = now
		who.stopped = !who.stopped
		delete(t.told, who)
	default:
	}
}

// forgetOld forgets what the host may learn again. T.mu is held.
func (t *typings) forgetOld(now time.Time) {
	for who, last := range t.told {
		if now.Sub(last) >= typingEvery {
			delete(t.told, who)
		}
	}
}

// sent notes that a person has sent what they wrote. What waits for the host is obsolete, and what follows is of the next message.
func (t *typings) sent(e chat.Event) {
	if _, said := e.Body.(chat.Message); !said {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, stopped := range []bool{false, true} {
		delete(t.told, typist{e.Chat.ID, e.Thread, e.Sender.ID, stopped})
	}
}

// run tells the host until ctx ends, or the host is too old.
func (t *typings) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case hint := <-t.waiting:
			if t.obsolete(hint) {
				continue
			}
			if err := t.tell(ctx, hint.request); status.Code(err) == codes.Unimplemented {
				return // hints wait until no more fit
			}
		}
	}
}

func (t *typings) obsolete(hint typing) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.told[hint.who].Equal(hint.at)
}

func (t *typings) tell(ctx context.Context, request *pluginv1.TypingRequest) error {
	ctx, cancel := context.WithTimeout(ctx, typingTimeout)
	defer cancel()
	_, err := t.client.Typing(ctx, request)
	return err
}
