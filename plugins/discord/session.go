package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// pace is how fast the bot does things again.
type pace struct {
	first   time.Duration // the wait after a failure; it doubles
	longest time.Duration
	save    time.Duration // between two writes of how far the host has the messages
}

func usualPace() pace {
	return pace{first: time.Second, longest: time.Minute, save: 2 * time.Second}
}

// maxResumes is how often a session is resumed in vain before it is given up.
const maxResumes = 3

// session is the bot's session with the gateway over its connections. The library's own gives up no session that Discord
// has closed for good, ends its sessions by how it closes, and lets events overtake each other; so this one does it. An
// event counts as received when the host has it: what is resumed begins there.
type session struct {
	token    string
	content  bool
	rest     *rest
	log      hclog.Logger
	pace     pace
	report   func(chat.State, string)
	receiver *receiver

	id     string // empty: a new session is begun
	url    string // where it is resumed
	seq    int64  // the last event that the host has
	vain   int    // connections in a row that brought no event
	before struct {
		state  chat.State
		detail string
	}
}

// run keeps the bot connected until ctx ends or only a person can help.
func (s *session) run(ctx context.Context) error {
	s.tell(chat.Connecting, "")
	defer s.receiver.cursors.close(ctx)
	for wait := s.pace.first; ; {
		seq, id := s.seq, s.id
		err := s.connect(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := fatal(err); err != nil {
			s.tell(chat.Disconnected, err.Error())
			return err
		}
		if s.id != id || s.seq != seq {
			wait, s.vain = s.pace.first, 0
		} else if s.vain++; s.vain >= maxResumes {
			s.forget()
		}
		if closed, ok := errors.AsType[*closedError](err); ok && closed.sessionEnded() {
			s.forget()
		}
		after := wait/2 + rand.N(wait) // Not all bots at once, after Discord was away.
		if e, ok := errors.AsType[*callError](err); ok {
			after = max(after, e.retryAfter)
		}
		s.tell(chat.Disconnected, err.Error())
		s.log.Warn("the connection to Discord ended", "error", err, "again_in", after.String())
		if !pause(ctx, after) {
			return ctx.Err()
		}
		wait = min(2*wait, s.pace.longest)
	}
}

// forget has the next connection begin a new session.
func (s *session) forget() { s.id, s.url, s.seq, s.vain = "", "", 0, 0 }

// connect goes through one connection. Its error, never nil, is why it ended.
func (s *session) connect(ctx context.Context) error {
	if s.receiver.self == "" {
		if err := s.signIn(ctx); err != nil {
			return err
		}
	}
	address := s.url
	if address == "" {
		var found struct{ URL string }
		if err := s.rest.call(ctx, "GET gateway", http.MethodGet, "gateway/bot", nil, &found); err != nil {
			return err
		}
		address = found.URL
	}
	link, err := dial(ctx, s.rest.transport, address)
	if err != nil {
		return err
	}
	var work sync.WaitGroup
	defer work.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The session stays, to be resumed, by a code of the bot's own.
	defer context.AfterFunc(ctx, func() { link.close() })()
	defer link.close()
	if err := s.introduce(link); err != nil {
		return err
	}
	events := make(chan *discordgo.Event, 256)
	var ended error
	work.Go(func() { link.beat(ctx) })
	work.Go(func() {
		defer close(events)
		ended = link.read(ctx, events, func(e *discordgo.Event) {
			answer := s.receiver.answer(e)
			work.Go(func() { answer(ctx) })
		})
	})
	if err := s.take(ctx, events); err != nil {
		return err
	}
	return ended
}

// signIn learns who the bot is.
func (s *session) signIn(ctx context.Context) error {
	var self discordgo.User
	if err := s.rest.call(ctx, "GET user", http.MethodGet, "users/@me", nil, &self); err != nil {
		return err
	}
	if parseID(self.ID) == 0 {
		return errors.New("the bot has no id")
	}
	return s.receiver.begin(ctx, self)
}

// introduce begins or resumes the session.
func (s *session) introduce(link *link) error {
	if s.id != "" {
		return link.write(opResume, resume{Token: s.token, SessionID: s.id, Seq: s.seq})
	}
	s.seq = 0
	intents := discordgo.IntentsGuilds | discordgo.IntentsGuildMessages | discordgo.IntentsGuildMessageReactions |
		discordgo.IntentsDirectMessages | discordgo.IntentsDirectMessageReactions
	if s.content {
		intents |= discordgo.IntentMessageContent
	}
	return link.write(opIdentify, identify{
		Token: s.token, Intents: int(intents), Properties: properties{OS: "linux", Browser: "clawhost", Device: "clawhost"},
	})
}

// take hands the events of a connection to the receiver, one after the other.
func (s *session) take(ctx context.Context, events <-chan *discordgo.Event) error {
	ticker := time.NewTicker(s.pace.save)
	defer ticker.Stop()
	for {
		select {
		case e, open := <-events:
			if !open {
				return nil
			}
			if err := s.handle(ctx, e); err != nil {
				return err
			}
		case <-ticker.C:
			s.receiver.cursors.save(ctx)
		}
	}
}

// handle takes one event. What comes twice in a session is dropped here.
func (s *session) handle(ctx context.Context, e *discordgo.Event) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s.id != "" && e.Sequence <= s.seq {
		return nil
	}
	id, url := s.id, s.url
	if e.Type == "READY" {
		var ready struct {
			SessionID string `json:"session_id"`
			URL       string `json:"resume_gateway_url"`
		}
		if err := decode(e, &ready); err != nil {
			return err
		}
		id, url = ready.SessionID, ready.URL
	}
	if err := s.receiver.handle(ctx, id, e); err != nil {
		return fmt.Errorf("event %d, %s: %w", e.Sequence, e.Type, err)
	}
	s.id, s.url, s.seq = id, url, e.Sequence
	if e.Type == "READY" || e.Type == "RESUMED" {
		s.tell(chat.Connected, "as "+s.receiver.name)
	}
	return nil
}

// tell reports each change once.
func (s *session) tell(state chat.State, detail string) {
	if s.before.state == state && s.before.detail == detail {
		return
	}
	s.before.state, s.before.detail = state, detail
	s.report(state, detail)
}

// fatal is what only a person can mend; nil: it may pass.
func fatal(err error) error {
	if e, ok := errors.AsType[*callError](err); ok && e.status == http.StatusUnauthorized {
		return fmt.Errorf("%w: Discord does not know the token; make a new one in the developer portal: %w", sdk.ErrBadCredentials, err)
	}
	if e, ok := errors.AsType[*closedError](err); ok {
		if advice, ok := fatalCodes[e.code]; ok {
			return fmt.Errorf("%w: %s (close code %d)", sdk.ErrBadCredentials, advice, e.code)
		}
	}
	return nil
}

// fatalCodes are the close codes after which Discord wants no new connection, and what to do.
var fatalCodes = map[int]string{
	4004: "Discord does not know the token; make a new one in the developer portal",
	4010: "Discord refuses the shard",
	4011: "the bot is on too many servers for one connection",
	4012: "Discord has given up the gateway's version; a newer clawhost is needed",
	4013: "Discord does not know the intents; a newer clawhost is needed",
	4014: "the Message Content Intent is not enabled; enable it on the Bot page of the developer portal, or set message_content = false",
}

// pause waits and tells whether it came to its end.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
