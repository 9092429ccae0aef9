package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"

	"github.com/clawhost/clawhost/core/internal/base/access"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/recentlog"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/operate/gateway"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/chat"
)

// shutdownGrace is how long responses may take when the server ends.
const shutdownGrace = time.Second

// listed bounds the list in one response.
const listed = 1000

// Plugins are the host's plugins. Their errors are for people.
type Plugins interface {
	Restart(name string) error
	// Login lets a person log in to a channel's account and shows each step. An empty account without an error means
	// that the last step asks for an answer.
	Login(ctx context.Context, plugin string, answers map[string]string, show func(chat.LoginStep)) (chat.UserID, error)
}

// Reloader applies the config while the host runs. Its errors are for people.
type Reloader interface {
	Reload(ctx context.Context, by string) (config.Reloaded, error)
	Compare(ctx context.Context) (config.Reloaded, error)
	Set(ctx context.Context, o config.Override) (config.Reloaded, error)
	Unset(ctx context.Context, name, by string) (config.Reloaded, error)
	Written() []config.Written
	Upgrade(ctx context.Context, plugin string) error
}

// Peers knows which processes may use the socket.
type Peers interface {
	// Refused reports whether a process may not use it: the agent's tools must not approve pairings. The pid is zero on
	// systems that do not report it.
	Refused(pid int) bool
	// Admit returns why whoever is at the remote end of a TCP connection may not use the HTTP interface.
	Admit(local, remote netip.AddrPort) error
}

// Gateway does what programs ask for. The text of a [gateway.Refusal] is shown to them.
type Gateway interface {
	Keep(ctx context.Context, c gateway.Caller, to chat.Address, m chat.Media, content io.Reader) (chat.Media, error)
	Post(ctx context.Context, c gateway.Caller, key string, m gateway.Message) (int64, error)
	Ask(ctx context.Context, c gateway.Caller, p gateway.Prompt) iter.Seq2[gateway.Progress, error]
}

// Options are a server's settings.
type Options struct {
	Socket  string // the control socket's path
	Store   *store.Store
	Host    Host
	Plugins Plugins
	Gateway Gateway
	Remote  Remote
	Peers   Peers
	Log     *recentlog.Log
	Metrics http.Handler // of scrapes; nil: metrics are off
	// Reloader applies the config.
	Reloader Reloader
}

// Server serves the clawhost command.
type Server struct {
	options Options
	log     hclog.Logger
}

// New returns a server. Run starts it.
func New(options Options, log hclog.Logger) *Server {
	return &Server{options: options, log: log}
}

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	path := s.options.Socket
	// The store holds locks on the state folder and its database as long as the server runs. So no other host uses this
	// socket, and an existing one is left from a previous process.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the old control socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return fmt.Errorf("open the control socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return fmt.Errorf("close the control socket to others: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := s.serve(ctx, &guarded{Listener: l, peers: s.options.Peers, log: s.log}, s.routes()); err != nil {
			return fmt.Errorf("serve the control socket: %w", err)
		}
		return nil
	})
	if s.options.Remote.Listen != "" {
		group.Go(func() error { return s.serveRemote(ctx) })
	}
	return group.Wait()
}

// guarded refuses peers before it reads a byte of theirs.
type guarded struct {
	net.Listener
	peers Peers
	log   hclog.Logger
}

// Accept returns the next connection of a permitted peer.
func (g *guarded) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if err := g.admit(conn); err != nil {
			g.log.Warn("refused a peer on the control socket", "error", err)
			_ = conn.Close()
			continue
		}
		return conn, nil
	}
}

// admit refuses a peer that may not use the socket, and one that ended meanwhile: the check could have seen another
// process.
func (g *guarded) admit(conn net.Conn) error {
	p, err := peerOf(conn)
	if err != nil {
		return fmt.Errorf("process %d: %w", p.pid, err)
	}
	defer p.close()
	switch {
	case g.peers.Refused(p.pid):
		return fmt.Errorf("process %d may not use it", p.pid)
	case p.gone():
		return fmt.Errorf("process %d is gone", p.pid)
	}
	return nil
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", alive)
	mux.HandleFunc("GET /readyz", s.ready(true))
	mux.HandleFunc("GET /v1/plugins", answer(func(*http.Request) (any, error) { return list(s.options.Host.Status().Plugins, nil) }))
	mux.HandleFunc("GET /v1/links", answer(func(*http.Request) (any, error) { return list(s.options.Host.Links(), nil) }))
	mux.HandleFunc("POST /v1/plugins/login", s.login)
	mux.HandleFunc("POST /v1/plugins/cli", answer(s.cli))
	mux.HandleFunc("POST /v1/messages", answer(s.send))
	mux.HandleFunc("POST /v1/turns", s.asking(false)) // a connection of this machine ends with the command
	mux.HandleFunc("GET /v1/logs", s.logs)
	s.scraped(mux)
	s.reads(mux)
	mux.HandleFunc("GET /v1/queue/dead", answer(func(r *http.Request) (any, error) { return s.deadLetters(r, listed, 0) }))
	s.acts(mux, operator)
	mux.HandleFunc("GET /v1/transcript", answer(s.transcript))
	mux.HandleFunc("GET /v1/tools", answer(func(r *http.Request) (any, error) {
		return list(s.options.Store.ToolUses(r.Context(), r.FormValue("session")))
	}))
	s.configRoutes(mux)
	s.debug(mux)
	return mux
}

// reads serves the state of the host.
func (s *Server) reads(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/status", answer(s.status))
	mux.HandleFunc("GET /v1/queue", answer(s.queue))
	mux.HandleFunc("GET /v1/sessions", answer(s.sessions))
	mux.HandleFunc("GET /v1/hosts", answer(func(r *http.Request) (any, error) { return list(s.members(r.Context())) }))
	mux.HandleFunc("GET /v1/usage", answer(s.usage))
	mux.HandleFunc("GET /v1/latency", answer(s.latency))
}

// acts serves what an operator does by hand, and names for the log by what.
func (s *Server) acts(mux *http.ServeMux, by string) {
	mux.HandleFunc("POST /v1/plugins/restart", answer(func(r *http.Request) (any, error) {
		return struct{}{}, s.options.Plugins.Restart(r.FormValue("name"))
	}))
	mux.HandleFunc("POST /v1/queue/retry", answer(func(r *http.Request) (any, error) {
		return onDead(r, s.options.Store.Requeue, s.options.Store.RequeueAll)
	}))
	mux.HandleFunc("POST /v1/queue/drop", answer(func(r *http.Request) (any, error) {
		return onDead(r, s.options.Store.Discard, s.options.Store.DiscardAll)
	}))
	mux.HandleFunc("GET /v1/pairings", answer(func(r *http.Request) (any, error) {
		return list(s.options.Store.Pairings(r.Context()))
	}))
	mux.HandleFunc("POST /v1/pairings/approve", answer(func(r *http.Request) (any, error) {
		channel, code := r.FormValue("channel"), r.FormValue("code")
		p, err := s.options.Store.ApprovePairing(r.Context(), channel, code, access.Welcome)
		if err == nil {
			s.log.Info("a pairing request was approved", "user", p.Channel+":"+string(p.User), "by", by)
		}
		return p, notPending(err, channel, code)
	}))
	mux.HandleFunc("POST /v1/pairings/reject", answer(func(r *http.Request) (any, error) {
		channel, code := r.FormValue("channel"), r.FormValue("code")
		p, err := s.options.Store.RejectPairing(r.Context(), channel, code)
		if err == nil {
			s.log.Info("a pairing request was rejected", "user", p.Channel+":"+string(p.User), "by", by)
		}
		return p, notPending(err, channel, code)
	}))
	mux.HandleFunc("POST /v1/hosts/drain", answer(s.drain))
	s.questions(mux, by)
}

// scraped serves the metrics, if they are on.
func (s *Server) scraped(mux *http.ServeMux) {
	if s.options.Metrics != nil {
		mux.Handle("GET /metrics", s.options.Metrics)
	}
}

// missing is an error for something that does not exist; it says where to look.
type missing string

// Error returns the text.
func (m missing) Error() string { return string(m) }

// notPending names the code in an error about a code that is not pending.
func notPending(err error, channel, code string) error {
	if !errors.Is(err, domain.ErrNotFound) {
		return err
	}
	if channel != "" {
		channel = " on " + channel
	}
	return missing(fmt.Sprintf("no request with the code %s is pending%s; `clawhost pairing list` shows those that are", code, channel))
}

// answer writes the result of f as JSON.
func answer(f func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := f(r)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case errors.As(err, new(missing)):
			w.WriteHeader(http.StatusNotFound)
			value = problem{err.Error()}
		case errors.As(err, new(*permission.ClosedError)):
			w.WriteHeader(http.StatusConflict)
			value = problem{err.Error()}
		case errors.As(err, new(gateway.Refusal)), errors.As(err, new(*permission.UnfitError)):
			w.WriteHeader(http.StatusUnprocessableEntity)
			value = problem{err.Error()}
		case err != nil:
			w.WriteHeader(http.StatusInternalServerError)
			value = problem{err.Error()}
		}
		_ = json.NewEncoder(w).Encode(value) // the client is gone or has it
	}
}

// present turns nil into an empty list: scripts expect brackets instead of null.
func present[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// list is a response with a list.
func list[T any](l []T, err error) (any, error) { return present(l), err }

func (s *Server) status(r *http.Request) (any, error) {
	status := s.options.Host.Status()
	status.Plugins = present(status.Plugins)
	status.PID = os.Getpid()
	lanes, err := s.options.Store.Lanes(r.Context())
	if err != nil {
		return nil, err
	}
	for _, lane := range lanes {
		status.Waiting += lane.Waiting
		status.note(lane)
	}
	destinations, err := s.options.Store.Destinations(r.Context())
	if err != nil {
		return nil, err
	}
	for _, d := range destinations {
		status.Pending += d.Pending
	}
	if status.Dead, err = s.options.Store.CountDead(r.Context()); err != nil {
		return nil, err
	}
	if status.Questions, err = s.options.Host.Questions(r.Context()); err != nil {
		return nil, err
	}
	status.Problems = s.options.Host.Health.List(r.Context())
	status.Uncertain, err = s.options.Store.Uncertain(r.Context())
	return status, err
}

// note notes what an agent does in a lane. An agent that the config has no more does nothing.
func (s Status) note(lane domain.LaneStatus) {
	i := slices.IndexFunc(s.Agents, func(a Agent) bool { return a.Label == session.AgentOf(lane.Session) })
	if i < 0 || lane.Lane != domain.TurnLane {
		return
	}
	s.Agents[i].Waiting += lane.Waiting
	if lane.Running {
		s.Agents[i].Running = append(s.Agents[i].Running, lane.Session)
	}
}

func (s *Server) queue(r *http.Request) (any, error) {
	q := Queue{Lanes: []Lane{}}
	lanes, err := s.options.Store.Lanes(r.Context())
	if err != nil {
		return nil, err
	}
	for _, l := range lanes {
		q.Lanes = append(q.Lanes, Lane{
			Session: l.Session, Agent: session.AgentOf(l.Session), Lane: l.Lane, Waiting: l.Waiting, Running: l.Running, Since: l.Since,
			Attempts: l.Attempts,
		})
	}
	if q.Destinations, err = s.options.Store.Destinations(r.Context()); err != nil {
		return nil, err
	}
	if q.Questions, err = s.options.Host.Questions(r.Context()); err != nil {
		return nil, err
	}
	q.Destinations = present(q.Destinations)
	q.Uncertain, err = s.options.Store.Uncertain(r.Context())
	return q, err
}

// deadLetters responds with so many dead letters, and so many characters of each; zero: with all of it.
func (s *Server) deadLetters(r *http.Request, limit, characters int) (any, error) {
	letters, err := s.options.Store.DeadLetters(r.Context(), limit)
	shown := make([]DeadLetter, 0, len(letters))
	for _, d := range letters {
		letter := DeadLetter{
			ID: d.ID, To: d.To, Text: shorten(d.Text, characters), CreatedAt: d.CreatedAt, DiedAt: d.DiedAt, Attempts: d.Attempts,
			Error: shorten(d.Error, characters), RunID: d.RunID, Session: d.Session,
		}
		for _, m := range d.Media {
			letter.Files = append(letter.Files, File{Kind: m.Kind.String(), Name: m.FileName, Type: m.MIMEType, Size: m.Size})
		}
		shown = append(shown, letter)
	}
	return shown, err
}

// onDead acts on the dead letter of a request, or on all if it names none, and responds with their number.
func onDead(r *http.Request, one func(context.Context, int64) error, all func(context.Context) (int, error)) (any, error) {
	text := r.FormValue("id")
	if text == "" {
		return all(r.Context())
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("id: %w", err)
	}
	err = one(r.Context(), id)
	if errors.Is(err, domain.ErrNotFound) {
		return nil, missing(fmt.Sprintf("message %d is not among the dead ones; `clawhost queue dead` lists them", id))
	}
	return 1, err
}

func (s *Server) sessions(r *http.Request) (any, error) {
	rows, err := s.options.Store.Sessions(r.Context(), r.FormValue("after"), listed)
	if err != nil {
		return nil, err
	}
	sessions := make([]Session, 0, len(rows))
	for _, row := range rows {
		sessions = append(sessions, shown(row))
	}
	return sessions, nil
}

func shown(s domain.Session) Session {
	return Session{
		Key: s.Key, Agent: session.AgentOf(s.Key), Kind: s.Kind.String(), Title: s.Title, Route: s.Route, ClaudeSession: s.ClaudeSession,
		CreatedAt: s.CreatedAt, InteractedAt: s.InteractedAt, Model: s.Model, Usage: s.Usage,
	}
}

// transcript responds with a page of a session's history, or 404 for an unknown session.
func (s *Server) transcript(r *http.Request) (any, error) {
	key := r.FormValue("session")
	if _, err := s.options.Store.Session(r.Context(), key); errors.Is(err, domain.ErrNotFound) {
		return nil, missing(fmt.Sprintf("there is no session %q; `clawhost sessions` lists them", key))
	} else if err != nil {
		return nil, err
	}
	var before int64
	if text := r.FormValue("before"); text != "" {
		var err error
		if before, err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, fmt.Errorf("before: %w", err)
		}
	}
	return list(s.options.Store.Entries(r.Context(), key, before, listed))
}
