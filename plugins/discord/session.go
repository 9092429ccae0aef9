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

// pace holds the bot's timing.
type pace struct {
	first       time.Duration // the wait after a failure; it doubles
	longest     time.Duration // maximum wait
	sound       time.Duration // how long a connection must be live to reset the waits
	identify    time.Duration // between the starts of two sessions
	save        time.Duration // between two writes of the host's position
	acknowledge time.Duration // how long an acknowledgement is retried
}

func usualPace() pace {
	return pace{
		first: time.Second, longest: time.Minute, sound: 5 * time.Second,
		identify:    6 * time.Second, // Discord's 5, and one for latency
		save:        2 * time.Second,
		acknowledge: 5 * time.Second, // Discord accepts none after 3; then its state is final
	}
}

// maxResumes limits how often resuming a session may fail before it is abandoned.
const maxResumes = 3

// session is the bot's gateway session, across connections and restarts of the process. The library's own does not abandon
// sessions that Discord has closed for good, ends sessions by its close codes, and reorders events; so it is not used. An
// event counts as received when the host has it: resuming continues from there.
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
	connection int       // the number of the current or next one
	vain       int       // consecutive connections without an event
	live       time.Time // when this connection had caught up; zero: not yet
	identified time.Time // when this process last started a session; zero: never
}

// resumption is what is needed to resume a session. That works for some minutes, and only for the bot that started it.
type resumption struct {
	ID      string `json:"id"` // empty: start a new session
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
		s.log.Debug("the connection to Discord ended", "error", err, "again_in", after.Round(time.Millisecond))
		if !network.Pause(ctx, after) {
			return ctx.Err()
		}
	}
}

// lived returns how long the ended connection was live; zero: never.
func (s *session) lived() time.Duration {
	if s.live.IsZero() {
		return 0
	}
	return max(1, time.Since(s.live))
}

// forget makes the next connection start a new session.
func (s *session) forget() {
	s.resumption, s.vain = resumption{Bot: s.Bot, Intents: s.Intents}, 0
}

// connect runs one connection, and reports whether an event arrived. Its error, never nil, says why it ended. It also
// passes interactions to answer as soon as they arrive.
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
	// A close code of the bot's own keeps the session resumable.
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

// signIn loads the bot's identity, and the state of a previous process.
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

// recall resumes the session of a previous process, if it is one of this bot with the same intents.
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

// save stores the host's position, and the session if it has caught up: a process that resumes the session would not know
// what is missing.
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

// close saves even if ctx has ended.
func (s *session) close(ctx context.Context) {
	if s.receiver.self == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	s.save(ctx)
	s.receiver.cursors.close(ctx)
}

// introduce starts or resumes the session.
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
		discordgo.IntentsGuildMessageTyping |
		discordgo.IntentsDirectMessages | discordgo.IntentsDirectMessageReactions | discordgo.IntentsDirectMessageTyping
	if s.content {
		intents |= discordgo.IntentMessageContent
	}
	return intents
}

// take passes the events of a connection to the receiver, one after the other.
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

// handle handles one event. Events that are repeated within a session are dropped here.
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
		// From here on the session can be resumed, even if it cannot catch up now.
		s.ID, s.URL, s.Seq = begun.SessionID, begun.URL, e.Sequence
		s.identified = time.Now() // Discord received it before now
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
		s.save(ctx) // otherwise a process that ends before the next tick would waste a session
	}
	return nil
}

// fatal returns the error that only a person can fix; nil if err may be temporary.
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

const rejectedToken = "Discord rejected the token; create a new one in the developer portal, set it and reload the config"

// fatalCodes are the close codes after which Discord forbids reconnecting, with advice.
var fatalCodes = map[int]string{
	4004: rejectedToken,
	4010: "Discord refused the shard",
	4011: "the bot is on too many servers for one connection",
	4012: "Discord no longer supports this version of the gateway; update clawhost",
	4013: "Discord does not know the intents; update clawhost",
	4014: "the Message Content Intent is not enabled; enable it on the Bot page of the developer portal, or set message_content = false",
}
