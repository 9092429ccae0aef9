package sdktest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/handshake"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// Host is the host of a [Harness]. It accepts each event once, keeps state and files in memory and records what the plugin
// posts.
type Host struct {
	mu          sync.Mutex
	submit      SubmitFunc
	turn        TurnFunc
	submitted   []chat.Event
	accepted    []chat.Event
	taken       int           // events returned by next
	changed     chan struct{} // closed and replaced at each change
	typing      TypingFunc
	typings     []chat.Typing
	typed       int // hints returned by nextTyping
	posts       []Post
	history     []chat.TranscriptEntry
	transcripts []sdk.SessionEntry
	wakeUps     map[string]time.Time

	state stateServer
	media mediaServer
}

// SubmitFunc decides the verdict on an event. Its error reaches the plugin's Submit as a gRPC error; one that is not a gRPC
// status becomes codes.Unavailable, which Submit retries.
type SubmitFunc func(ctx context.Context, e chat.Event) (chat.Verdict, error)

// TypingFunc takes a hint that a person is typing. Its error reaches the plugin's sdk as a gRPC error.
type TypingFunc func(ctx context.Context, t chat.Typing) error

// TurnFunc answers a turn that the plugin requests. Its error is that of a failed turn.
type TurnFunc func(ctx context.Context, t sdk.Turn) (string, error)

// Post is a message that the plugin posted.
type Post struct {
	Key string
	To  chat.Address
	sdk.Post
}

func newHost() *Host {
	return &Host{
		changed: make(chan struct{}),
		wakeUps: map[string]time.Time{},
		state:   stateServer{values: map[string]value{}},
		media:   mediaServer{files: map[string]file{}},
	}
}

// OnSubmit sets the function that decides on events; nil restores [Host.Accept].
func (h *Host) OnSubmit(f SubmitFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.submit = f
}

// Accept is the default [SubmitFunc]: an event is accepted, or a duplicate if its id is known.
func (h *Host) Accept(_ context.Context, e chat.Event) (chat.Verdict, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.ContainsFunc(h.accepted, func(known chat.Event) bool { return known.ID == e.ID }) {
		return chat.Duplicate, nil
	}
	h.accepted = append(h.accepted, e)
	h.signal()
	return chat.Accepted, nil
}

// Unavailable is the [SubmitFunc] of a host that cannot accept events now.
func Unavailable(context.Context, chat.Event) (chat.Verdict, error) {
	return 0, status.Error(codes.Unavailable, "the host cannot accept events now")
}

// OnTyping sets the function that takes hints; nil takes all. An older host, which knows none, returns codes.Unimplemented.
func (h *Host) OnTyping(f TypingFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.typing = f
}

// OnTurn sets the function that answers the plugin's turns.
func (h *Host) OnTurn(f TurnFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turn = f
}

// AddHistory adds entries to every session's history. Their ids must increase.
func (h *Host) AddHistory(entries ...chat.TranscriptEntry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.history = append(h.history, entries...)
}

// AddTranscripts adds entries of a session of the agent main to what the plugin may read of all conversations. Their ids must
// increase. Without any the plugin may read none.
func (h *Host) AddTranscripts(session string, entries ...chat.TranscriptEntry) {
	h.AddTranscriptsOf(Agent, session, entries...)
}

// AddTranscriptsOf is [Host.AddTranscripts] for a session of an agent.
func (h *Host) AddTranscriptsOf(agent, session string, entries ...chat.TranscriptEntry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range entries {
		h.transcripts = append(h.transcripts, sdk.SessionEntry{Agent: agent, Session: session, Entry: e})
	}
}

// Submissions returns every submitted event, accepted or not, once for each submission.
func (h *Host) Submissions() []chat.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.submitted)
}

// Events returns the accepted events in order.
func (h *Host) Events() []chat.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.accepted)
}

// Typings returns the hints that people are typing, taken or not, once for each call of the plugin's.
func (h *Host) Typings() []chat.Typing {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.typings)
}

// Posts returns the messages that the plugin posted, each key once.
func (h *Host) Posts() []Post {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.posts)
}

// WakeUps returns the plugin's wake-ups, by time and key. [Harness.WakeUp] calls the plugin for one.
func (h *Host) WakeUps() []sdk.WakeUp {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []sdk.WakeUp
	for key, at := range h.wakeUps {
		list = append(list, sdk.WakeUp{Key: key, At: at})
	}
	slices.SortFunc(list, func(a, b sdk.WakeUp) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Key, b.Key)) })
	return list
}

// awake deletes a wake-up that has been done, unless the plugin has set it to another time.
func (h *Host) awake(w sdk.WakeUp) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.wakeUps[w.Key].Equal(w.At) {
		delete(h.wakeUps, w.Key)
		h.signal()
	}
}

// signal wakes all waiters; mu is held.
func (h *Host) signal() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// await waits until done, which is called with mu held, returns true.
func (h *Host) await(ctx context.Context, done func() bool) error {
	for {
		h.mu.Lock()
		ok, changed := done(), h.changed
		h.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// next waits for the next accepted event.
func (h *Host) next(ctx context.Context) (e chat.Event, err error) {
	err = h.await(ctx, func() bool {
		if h.taken >= len(h.accepted) {
			return false
		}
		e = h.accepted[h.taken]
		h.taken++
		return true
	})
	return e, err
}

// nextTyping waits for the next hint.
func (h *Host) nextTyping(ctx context.Context) (t chat.Typing, err error) {
	err = h.await(ctx, func() bool {
		if h.typed >= len(h.typings) {
			return false
		}
		t = h.typings[h.typed]
		h.typed++
		return true
	})
	return t, err
}

func (h *Host) server() *grpc.Server {
	s := grpc.NewServer(handshake.ServerOptions()...)
	pluginv1.RegisterInboxServer(s, inboxServer{host: h})
	pluginv1.RegisterOutboxServer(s, outboxServer{host: h})
	pluginv1.RegisterTurnsServer(s, turnsServer{host: h})
	pluginv1.RegisterSessionsServer(s, sessionsServer{host: h})
	pluginv1.RegisterWakeUpsServer(s, wakeUpsServer{host: h})
	pluginv1.RegisterStateServer(s, &h.state)
	pluginv1.RegisterMediaStoreServer(s, &h.media)
	return s
}

type inboxServer struct {
	pluginv1.UnimplementedInboxServer

	host *Host
}

func (s inboxServer) Submit(ctx context.Context, r *pluginv1.SubmitRequest) (*pluginv1.SubmitResponse, error) {
	event, err := wire.EventFromProto(r.GetEvent())
	if err != nil {
		return &pluginv1.SubmitResponse{Verdict: pluginv1.Verdict_VERDICT_REJECTED, Reason: err.Error()}, nil
	}
	s.host.mu.Lock()
	decide := s.host.submit
	if decide == nil {
		decide = s.host.Accept
	}
	s.host.submitted = append(s.host.submitted, event)
	s.host.signal()
	s.host.mu.Unlock()
	verdict, err := decide(ctx, event)
	if err != nil {
		if _, ok := status.FromError(err); !ok {
			err = status.Error(codes.Unavailable, err.Error())
		}
		return nil, err
	}
	return &pluginv1.SubmitResponse{Verdict: wire.VerdictToProto(verdict)}, nil
}

func (s inboxServer) Typing(ctx context.Context, r *pluginv1.TypingRequest) (*pluginv1.TypingResponse, error) {
	hint, err := wire.TypingFromProto(r)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	s.host.mu.Lock()
	take := s.host.typing
	s.host.typings = append(s.host.typings, hint)
	s.host.signal()
	s.host.mu.Unlock()
	if take != nil {
		if err := take(ctx, hint); err != nil {
			return nil, err
		}
	}
	return &pluginv1.TypingResponse{}, nil
}

type outboxServer struct {
	pluginv1.UnimplementedOutboxServer

	host *Host
}

func (s outboxServer) Post(_ context.Context, r *pluginv1.PostRequest) (*pluginv1.PostResponse, error) {
	to, err := wire.AddressFromProto(r.GetAddress())
	if err != nil || r.GetIdempotencyKey() == "" {
		return nil, status.Errorf(codes.InvalidArgument, "post: key %q, %v", r.GetIdempotencyKey(), err)
	}
	posted := Post{Key: r.GetIdempotencyKey(), To: to, Post: sdk.Post{Text: r.GetText()}}
	if posted.Media, err = wire.AttachedFromProto(r.GetMedia()); err == nil {
		posted.Buttons, err = wire.ButtonsFromProto(r.GetButtons())
	}
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	i := slices.IndexFunc(s.host.posts, func(p Post) bool { return p.Key == r.GetIdempotencyKey() })
	if i < 0 {
		i = len(s.host.posts)
		s.host.posts = append(s.host.posts, posted)
		s.host.signal()
	}
	return &pluginv1.PostResponse{OutboxId: int64(i + 1)}, nil
}

type turnsServer struct {
	pluginv1.UnimplementedTurnsServer

	host *Host
}

func (s turnsServer) RunTurn(r *pluginv1.RunTurnRequest, stream grpc.ServerStreamingServer[pluginv1.RunTurnResponse]) error {
	to, err := wire.AddressFromProto(r.GetAddress())
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	kind, err := wire.KindFromProto(r.GetChatKind())
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	s.host.mu.Lock()
	answer := s.host.turn
	s.host.mu.Unlock()
	if answer == nil {
		return status.Error(codes.Unimplemented, "the test has not called OnTurn")
	}
	queued := &pluginv1.RunTurnResponse{Event: &pluginv1.RunTurnResponse_Queued{Queued: &pluginv1.TurnQueued{}}}
	if err := stream.Send(queued); err != nil {
		return err
	}
	media, err := wire.AttachedFromProto(r.GetMedia())
	if err == nil && r.GetConversation() != "" && !wire.ValidConversation(r.GetConversation()) {
		err = fmt.Errorf("conversation: %q is no name", r.GetConversation())
	}
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	result := &pluginv1.TurnResult{}
	result.Text, err = answer(stream.Context(), sdk.Turn{
		Key: r.GetIdempotencyKey(), To: to, Kind: kind, Prompt: r.GetPrompt(), Deliver: r.GetDeliver(),
		Timeout: r.GetTimeout().AsDuration(), Untrusted: r.GetUntrusted(),
		Context: r.GetContext(), Media: media, Conversation: r.GetConversation(), Agent: r.GetAgent(),
	})
	if err != nil {
		result.Error = err.Error()
	}
	if r.GetProgress() {
		progress := &pluginv1.TurnProgress{Text: result.GetText()}
		if err := stream.Send(&pluginv1.RunTurnResponse{Event: &pluginv1.RunTurnResponse_Progress{Progress: progress}}); err != nil {
			return err
		}
	}
	return stream.Send(&pluginv1.RunTurnResponse{Event: &pluginv1.RunTurnResponse_Result{Result: result}})
}

type wakeUpsServer struct {
	pluginv1.UnimplementedWakeUpsServer

	host *Host
}

func (s wakeUpsServer) WakeAt(_ context.Context, r *pluginv1.WakeAtRequest) (*pluginv1.WakeAtResponse, error) {
	if r.GetKey() == "" || len(r.GetKey()) > wire.MaxWakeUp || r.GetAt().CheckValid() != nil {
		return nil, status.Errorf(codes.InvalidArgument, "a wake-up with a key of %d bytes, at %v", len(r.GetKey()), r.GetAt())
	}
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	s.host.wakeUps[r.GetKey()] = r.GetAt().AsTime().Add(time.Millisecond - time.Nanosecond).Truncate(time.Millisecond)
	s.host.signal()
	return &pluginv1.WakeAtResponse{}, nil
}

func (s wakeUpsServer) CancelWakeUp(_ context.Context, r *pluginv1.CancelWakeUpRequest) (*pluginv1.CancelWakeUpResponse, error) {
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	delete(s.host.wakeUps, r.GetKey())
	s.host.signal()
	return &pluginv1.CancelWakeUpResponse{}, nil
}

type sessionsServer struct {
	pluginv1.UnimplementedSessionsServer

	host *Host
}

func (s sessionsServer) ReadHistory(_ context.Context, r *pluginv1.ReadHistoryRequest) (*pluginv1.ReadHistoryResponse, error) {
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	limit := int(r.GetLimit())
	if limit == 0 {
		limit = 50
	}
	response := &pluginv1.ReadHistoryResponse{}
	for _, e := range s.host.history {
		if r.GetBeforeId() == 0 || e.ID < r.GetBeforeId() {
			response.Entries = append(response.Entries, wire.TranscriptEntryToProto(e))
		}
	}
	response.Entries = response.Entries[max(0, len(response.Entries)-limit):]
	return response, nil
}

func (s sessionsServer) ReadTranscripts(_ context.Context, r *pluginv1.ReadTranscriptsRequest) (*pluginv1.ReadTranscriptsResponse, error) {
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	if len(s.host.transcripts) == 0 {
		return nil, status.Error(codes.PermissionDenied, "the block has no read_transcripts")
	}
	limit := int(r.GetLimit())
	if limit == 0 {
		limit = 200
	}
	response := &pluginv1.ReadTranscriptsResponse{}
	for _, e := range s.host.transcripts {
		if e.Entry.ID > r.GetAfterId() && len(response.Entries) < limit {
			response.Entries = append(response.Entries, wire.SessionEntryToProto(e.Agent, e.Session, e.Entry))
		}
	}
	return response, nil
}
