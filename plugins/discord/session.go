package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
)

// pace is how fast the bot does things.
type pace struct {
	first       time.Duration // the wait after a failure; it doubles
	longest     time.Duration // of the waits
	sound       time.Duration // how long a connection must be live for the waits to begin anew
	identify    time.Duration // between the beginnings of two sessions
	save        time.Duration // between two writes of how far the host is
	acknowledge time.Duration // how long Discord is asked to take an acknowledgement
}

func usualPace() pace {
	return pace{
		first: time.Second, longest: time.Minute, sound: 5 * time.Second,
		identify:    6 * time.Second, // Discord's 5, and one for the way.
		save:        2 * time.Second,
		acknowledge: 5 * time.Second, // It takes none after 3, and then knows whether it has.
	}
}

// maxResumes is how often a session is resumed in vain before it is given up.
const maxResumes = 3

// session is the bot's session with the gateway over its connections and the lives of its process. The library's own gives
// up no session that Discord has closed for good, ends its sessions by how it closes, and lets events overtake each other;
// so this one does it. An event counts as received when the host has it: what is resumed begins there.
type session struct {
	token    string
	content  bool
	rest     *rest
	state    sdk.State
	log      *slog.Logger
	pace     pace
	status   *network.Status
	receiver *receiver

	resumption
	saved      resumption
	connection int       // the number of the one that is, or will be
	vain       int       // connections in a row on which no event came
	live       time.Time // since when all has come that was missed; zero: not yet, on this connection
	identified time.Time // when this life began a session last; zero: never
}

// resumption is what a session is resumed by. It can be for no longer than some minutes, and only by who began it.
type resumption struct {
	ID      string `json:"id"` // empty: a new session is begun
	URL     string `json:"url"`
	Seq     int64  `json:"seq"` // the last event that the host has
	Bot     string `json:"bot"`
	Intents int    `json:"intents"`
}

const sessionKey = "session"

// run keeps the bot connected until ctx ends or only a person can help.
func (s *session) run(ctx context.Context) error {
	var answering sync.WaitGroup
	defer answering.Wait()
	defer s.close(ctx)
	whole, cancel := context.WithCancel(ctx)
	defer cancel()
	answer := func(e *discordgo.Event) {
		do := s.receiver.answer(e, s.connection)
		answering.Go(func() { do(whole) })
	}
	for waits := newReconnect(s.pace); ; {
		came, err := s.connect(ctx, answer)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := fatal(err); err != nil {
			s.status.Report(chat.Disconnected, err.Error())
			return err
		}
		if s.vain++; came {
			s.vain = 0
		}
		closed, ok := errors.AsType[*closedError](err)
		if s.vain >= maxResumes || ok && closed.sessionEnded() {
			s.forget()
		}
		after := waits.after(s.lived(), err)
		if after > 0 {
			s.status.Report(chat.Disconnected, err.Error())
		}
		s.log.Debug("the connection to Discord ended", "error", err, "again_in", after)
		if !network.Pause(ctx, after) {
			return ctx.Err()
		}
	}
}

// lived is for how long the connection that ended was live; zero: it never was.
func (s *session) lived() time.Duration {
	if s.live.IsZero() {
		return 0
	}
	return max(1, time.Since(s.live))
}

// forget has the next connection begin a new session.
func (s *session) forget() {
	s.resumption, s.vain = resumption{Bot: s.Bot, Intents: s.Intents}, 0
}

// connect goes through one connection, and tells whether an event came. Its error, never nil, is why it ended. Interactions
// it also shows to answer, as soon as they come.
func (s *session) connect(ctx context.Context, answer func(*discordgo.Event)) (came bool, err error) {
	s.live = time.Time{}
	s.connection++
	if s.receiver.self == "" {
		if err := s.signIn(ctx); err != nil {
			return false, err
		}
	}
	if s.ID == "" {
		if err := s.awaitIdentify(ctx); err != nil {
			return false, err
		}
	}
	address, err := s.address(ctx)
	if err != nil {
		return false, err
	}
	link, err := dial(ctx, s.rest.transport, address)
	if err != nil {
		return false, err
	}
	var work sync.WaitGroup
	defer work.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The session stays, to be resumed, by a code of the bot's own.
	defer context.AfterFunc(ctx, func() { link.close() })()
	defer link.close()
	if err := s.introduce(ctx, link); err != nil {
		return false, err
	}
	events := make(chan *discordgo.Event, 256)
	var ended error
	work.Go(func() { link.beat(ctx) })
	work.Go(func() {
		defer close(events)
		ended = link.read(ctx, events, answer)
	})
	if err := s.take(ctx, link, events); err != nil {
		return link.seq.Load() > 0, err
	}
	return link.seq.Load() > 0, ended
}

// signIn learns who the bot is, and what a life before this one left.
func (s *session) signIn(ctx context.Context) error {
	var self discordgo.User
	if err := s.rest.call(ctx, "GET user", http.MethodGet, "users/@me", nil, &self); err != nil {
		return err
	}
	if parseID(self.ID) == 0 {
		return errors.New("the bot has no id")
	}
	if err := s.recall(ctx, self.ID); err != nil {
		return fmt.Errorf("read the session: %w", err)
	}
	return s.receiver.begin(ctx, self)
}

// recall goes on with the session of the life before, if it is one of this bot and of the same intents.
func (s *session) recall(ctx context.Context, bot string) error {
	s.Bot, s.Intents = bot, int(s.intents())
	raw, _, err := s.state.Get(ctx, sessionKey)
	if errors.Is(err, sdk.ErrNotFound) {
		return nil
	}
	var left resumption
	if err != nil || json.Unmarshal(raw, &left) != nil || left.Bot != s.Bot || left.Intents != s.Intents {
		return err
	}
	s.resumption, s.saved = left, left
	return nil
}

// save writes down how far the host is, and the session, if it owes nothing: a life that resumed another one's would not
// know what is owed.
func (s *session) save(ctx context.Context) {
	s.receiver.cursors.save(ctx)
	if s.resumption == s.saved || !s.receiver.settled() {
		return
	}
	raw, err := json.Marshal(s.resumption)
	if err != nil {
		return
	}
	if _, err := s.state.Put(ctx, sessionKey, raw); err == nil {
		s.saved = s.resumption
	}
}

// close saves though ctx has ended.
func (s *session) close(ctx context.Context) {
	if s.receiver.self == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	s.save(ctx)
	s.receiver.cursors.close(ctx)
}

// introduce begins or resumes the session.
func (s *session) introduce(ctx context.Context, link *link) error {
	if s.ID != "" {
		return link.write(opResume, resume{Token: s.token, SessionID: s.ID, Seq: s.Seq})
	}
	if err := s.noteIdentify(ctx); err != nil {
		return err
	}
	return link.write(opIdentify, identify{
		Token: s.token, Intents: int(s.intents()), Properties: properties{OS: "linux", Browser: "clawhost", Device: "clawhost"},
	})
}

func (s *session) intents() discordgo.Intent {
	intents := discordgo.IntentsGuilds | discordgo.IntentsGuildMessages | discordgo.IntentsGuildMessageReactions |
		discordgo.IntentsDirectMessages | discordgo.IntentsDirectMessageReactions
	if s.content {
		intents |= discordgo.IntentMessageContent
	}
	return intents
}

// take hands the events of a connection to the receiver, one after the other.
func (s *session) take(ctx context.Context, link *link, events <-chan *discordgo.Event) error {
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
			if !s.live.IsZero() && s.receiver.settled() && len(events) == 0 {
				s.receiver.cursors.there(time.UnixMilli(link.heard.Load()))
				if err := s.receiver.idle(ctx); err != nil {
					return err
				}
			}
			s.save(ctx)
		}
	}
}

// handle takes one event. What comes twice in a session is dropped here.
func (s *session) handle(ctx context.Context, e *discordgo.Event) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s.ID != "" && e.Sequence <= s.Seq {
		return nil
	}
	if e.Type == "READY" {
		var begun ready
		if err := decode(e, &begun); err != nil {
			return err
		}
		// From here on the session can be resumed, even if what it owes cannot be had now.
		s.ID, s.URL, s.Seq = begun.SessionID, begun.URL, e.Sequence
		s.identified = time.Now() // Discord had it before now.
		s.receiver.begun(begun, s.connection)
	}
	if err := s.receiver.handle(ctx, s.ID, e); err != nil {
		return fmt.Errorf("event %d, %s: %w", e.Sequence, e.Type, err)
	}
	s.Seq = e.Sequence
	if e.Type == "READY" || e.Type == "RESUMED" {
		s.live = time.Now()
		s.status.Report(chat.Connected, "as "+s.receiver.name)
	}
	if s.ID != s.saved.ID && s.receiver.settled() {
		s.save(ctx) // A life that ends before the next tick has begun one for nothing.
	}
	return nil
}

// fatal is what only a person can mend; nil: it may pass.
func fatal(err error) error {
	if e, ok := errors.AsType[*callError](err); ok && e.Status == http.StatusUnauthorized {
		return fmt.Errorf("%w: %s", sdk.ErrBadCredentials, rejectedToken)
	}
	if e, ok := errors.AsType[*closedError](err); ok {
		if advice, ok := fatalCodes[e.code]; ok {
			return fmt.Errorf("%w: %s (close code %d)", sdk.ErrBadCredentials, advice, e.code)
		}
	}
	return nil
}

const rejectedToken = "Discord rejected the token; make a new one in the developer portal, set it and restart the host"

// fatalCodes are the close codes after which Discord wants no new connection, and what to do.
var fatalCodes = map[int]string{
	4004: rejectedToken,
	4010: "Discord refused the shard",
	4011: "the bot is on too many servers for one connection",
	4012: "Discord no longer supports this version of the gateway; update clawhost",
	4013: "Discord does not know the intents; update clawhost",
	4014: "the Message Content Intent is not enabled; enable it on the Bot page of the developer portal, or set message_content = false",
}
