// Package discordtest is Discord on loopback for tests: its REST API and its gateway, with sessions that resume, messages
// that a repeated nonce does not double, and faults that a test orders or a seed scatters.
//
// What is not modelled: roles and permissions but for [Server.Forbid], shards, voice, compression.
package discordtest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Ids of the bot that a server knows.
const (
	BotID         = "4242"
	ApplicationID = "4343"
)

// Intents of the gateway that a server looks at.
const (
	intentGuildMessages  = 1 << 9
	intentGuildReactions = 1 << 10
	intentGuildTyping    = 1 << 11
	intentDirectMessages = 1 << 12
	intentDirectTyping   = 1 << 14
	intentContent        = 1 << 15
)

// object is a JSON object.
type object = map[string]any

// Server is a Discord with one bot.
type Server struct {
	http  *httptest.Server
	token string

	mu            sync.Mutex
	changed       chan struct{} // closed and replaced at each change
	online        chan struct{} // closed when the bot has come for the first time
	lastID        int64
	users         map[string]string   // names by id
	channels      map[string]*channel // by id
	order         []string            // of the channels
	messages      map[string]*Message // by id
	nonces        map[string]string   // the message's id by channel and nonce
	files         map[string][]byte   // by path
	fetched       int                 // files that were asked for and there
	commands      []Command
	answers       []*Answer       // to interactions
	waiting       map[string]wait // interactions
	sessions      map[string]*session
	conns         map[*conn]bool
	identifies    int
	resumes       int
	identified    time.Time     // when a session was begun last
	early         int           // sessions that were not begun, for it was too early
	identifyEvery time.Duration // between the beginnings of two sessions
	resumeAt      string        // where sessions are resumed; empty: at the server itself
	heartbeat     time.Duration
	mute          bool  // heartbeats are not acknowledged
	refusal       int   // close code for what identifies or resumes
	down          bool  // every connection is cut
	flags         int64 // of the application
	forbidden     map[string]bool
	membersHidden bool
	voiceless     map[string]bool     // channels without voice messages
	joined        time.Time           // when the bot was let into the guilds
	roles         map[string][]object // by guild
	starts        int                 // sessions that may be begun; below zero: any number
	allowance     *allowance          // of messages; nil: any number
	tooMany       int                 // requests that were refused for it
	faults        []*ordered
	chaos         *chaos
	disorder      bool
}

// channel is a conversation.
type channel struct {
	id, guild, parent, name string
	person                  string // of a direct channel
	kind                    int
	last                    string // the last message's id
	typing, asked           int
}

// Types of channels.
const (
	guildText    = 0
	direct       = 1
	publicThread = 11
	forum        = 15
)

// Message is a message of a channel.
type Message struct {
	ID, Channel, Author, Text string
	ReplyTo                   string
	Nonce                     string
	Mentions                  []string // allowed_mentions.parse as the bot sent it; nil: it sent none
	Silent                    bool
	NoPreviews                bool // of links
	Buttons                   []Button
	Edits                     int
	Deleted                   bool
	Reactions                 []string // emojis of the bot
	Files                     []File   // that the bot sent
	Voice                     *Voice   // nil: it is no voice message
	Poll                      *Poll    // nil: it is not one

	at       time.Time
	edited   time.Time
	attached []*attachment
	webhook  bool     // it came through one
	liked    []string // emojis of others
	embed    string
	snapshot string
}

// File is one that the bot sent.
type File struct {
	Name, Type string
	Content    []byte
}

// Voice is what is said of a voice message in addition to its file.
type Voice struct {
	Seconds  float64
	Waveform []byte
}

// Button is one that the bot sent.
type Button struct{ Label, Data string }

// Command is an entry of the bot's menu.
type Command struct{ Name, Description string }

// Answer is what the bot said to an interaction.
type Answer struct {
	Interaction string
	Type        int      // of the first answer
	Text        string   // of the first answer
	Private     bool     // to the person alone
	Edited      string   // what it was changed to
	FollowUps   []string // what came behind it

	channel string
}

type attachment struct {
	id, name, mime, path string
	size                 int
}

// New starts a server, which ends with the test.
func New(t testing.TB) *Server {
	s := Start()
	t.Cleanup(s.Stop)
	return s
}

// Start starts a server. The caller stops it.
func Start() *Server {
	s := &Server{
		token:     "NDI0Mg.discordtest.loopback-token-0123456789abcdef",
		changed:   make(chan struct{}),
		online:    make(chan struct{}),
		users:     map[string]string{BotID: "claw"},
		channels:  map[string]*channel{},
		messages:  map[string]*Message{},
		nonces:    map[string]string{},
		files:     map[string][]byte{},
		waiting:   map[string]wait{},
		sessions:  map[string]*session{},
		conns:     map[*conn]bool{},
		forbidden: map[string]bool{},
		voiceless: map[string]bool{},
		roles:     map[string][]object{},
		starts:    -1,
		heartbeat: 5 * time.Second,
	}
	s.http = httptest.NewServer(s.routes())
	return s
}

// Stop ends the server.
func (s *Server) Stop() {
	s.Heal()
	s.Cut()
	s.http.CloseClientConnections()
	s.http.Close()
}

// URL is the server's address, without a path.
func (s *Server) URL() string { return s.http.URL }

// First is closed when the bot has come for the first time: before that it hears of nothing, then or later.
func (s *Server) First() <-chan struct{} { return s.online }

// SetFlags sets the flags of the application, such as 1<<19 for the Message Content Intent of a bot in few servers.
func (s *Server) SetFlags(flags int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flags = flags
}

// Token is the bot's token.
func (s *Server) Token() string { return s.token }

// newID makes a snowflake, which rises; mu is held.
func (s *Server) newID() string {
	const epoch = 1420070400000
	s.lastID = max(s.lastID+1, (time.Now().UnixMilli()-epoch)<<22)
	return strconv.FormatInt(s.lastID, 10)
}

// signal wakes those who wait; mu is held.
func (s *Server) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Await waits until done, which is called after each change, is true.
func (s *Server) Await(t testing.TB, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.await(ctx, done); err != nil {
		t.Fatalf("timed out waiting until %s", what)
	}
}

func (s *Server) await(ctx context.Context, done func() bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if done() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range map[string]func(http.ResponseWriter, *http.Request){
		"GET /gateway":                                                        s.getGateway,
		"GET /gateway/bot":                                                    s.getGateway,
		"GET /users/@me":                                                      s.getMe,
		"POST /users/@me/channels":                                            s.postDirect,
		"GET /applications/@me":                                               s.getApplication,
		"PUT /applications/{app}/commands":                                    s.putCommands,
		"GET /channels/{channel}":                                             s.getChannel,
		"GET /channels/{channel}/messages":                                    s.getMessages,
		"POST /channels/{channel}/messages":                                   s.postMessage,
		"PATCH /channels/{channel}/messages/{message}":                        s.patchMessage,
		"DELETE /channels/{channel}/messages/{message}":                       s.deleteMessage,
		"POST /channels/{channel}/typing":                                     s.postTyping,
		"PUT /channels/{channel}/messages/{message}/reactions/{emoji}/@me":    s.putReaction,
		"DELETE /channels/{channel}/messages/{message}/reactions/{emoji}/@me": s.deleteReaction,
		"POST /interactions/{id}/{token}/callback":                            s.postCallback,
		"POST /webhooks/{app}/{token}":                                        s.postFollowUp,
		"GET /guilds/{guild}/roles":                                           s.getRoles,
		"GET /guilds/{guild}":                                                 s.getGuild,
		"GET /guilds/{guild}/members":                                         s.getMembers,
		"GET /channels/{channel}/messages/{message}":                          s.getMessage,
		"GET /webhooks/{app}/{token}/messages/@original":                      s.getOriginal,
		"PATCH /webhooks/{app}/{token}/messages/@original":                    s.patchOriginal,
	} {
		mux.HandleFunc(pattern, handle)
	}
	all := http.NewServeMux()
	for _, version := range []string{"/api/v9", "/api/v10"} {
		all.Handle(version+"/", http.StripPrefix(version, s.faulty(s.authorised(s.limited(mux)))))
	}
	all.Handle("GET /attachments/", s.faulty(http.HandlerFunc(s.getAttachment)))
	all.HandleFunc("GET /gateway", s.serveGateway)
	all.HandleFunc("GET /gateway/", s.serveGateway)
	return s.reachable(all)
}

// authorised asks for the token but where Discord does not.
func (s *Server) authorised(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		free := strings.HasPrefix(r.URL.Path, "/interactions/") || strings.HasPrefix(r.URL.Path, "/webhooks/")
		if !free && r.Header.Get("Authorization") != "Bot "+s.token {
			refuse(w, http.StatusUnauthorized, 0, "401: Unauthorized")
			return
		}
		next.ServeHTTP(w, r)
	})
}
