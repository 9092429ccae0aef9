package sdk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/handshake"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// hostTimeout is the deadline of a call to the host if the author's context has no earlier one. It is generous: the host
// answers each call with one transaction.
const hostTimeout = 30 * time.Second

// newEnv returns the environment of a configured plugin.
func newEnv(log *slog.Logger, conn *grpc.ClientConn, line *handshake.Line, r *pluginv1.ConfigureRequest) Env {
	return Env{
		Log:         log,
		Instance:    r.GetInstance(),
		StateDir:    r.GetStateDir(),
		Workspace:   r.GetWorkspace(),
		Demo:        r.GetDemo(),
		ServesHTTP:  r.GetServesHttp(),
		State:       hostState{pluginv1.NewStateClient(conn)},
		Media:       hostMedia{pluginv1.NewMediaStoreClient(conn)},
		Outbox:      hostOutbox{pluginv1.NewOutboxClient(conn), r.GetTakesRichRequests()},
		Turns:       hostTurns{pluginv1.NewTurnsClient(conn), r.GetRunsUntrusted(), r.GetTakesRichRequests()},
		WakeUps:     hostWakeUps{pluginv1.NewWakeUpsClient(conn)},
		History:     hostHistory{pluginv1.NewSessionsClient(conn)},
		Transcripts: hostTranscripts{pluginv1.NewSessionsClient(conn)},
		line:        line,
	}
}

// hostError adds what the call was for and translates gRPC codes to errors that authors test for. No other function does
// so.
func hostError(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	}
	s := status.Convert(err)
	switch s.Code() {
	case codes.NotFound:
		return fmt.Errorf("%s: %w", doing, ErrNotFound)
	case codes.PermissionDenied:
		return fmt.Errorf("%s: %w: %s", doing, ErrNotGranted, s.Message())
	case codes.Unimplemented:
		return fmt.Errorf("%s: the host is too old: %w", doing, errors.ErrUnsupported)
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
}

type hostState struct{ client pluginv1.StateClient }

func (h hostState) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	r, err := h.client.GetValue(ctx, &pluginv1.GetValueRequest{Key: key})
	if err != nil {
		return nil, 0, hostError(ctx, "get state", err)
	}
	if !r.GetFound() {
		return nil, 0, fmt.Errorf("get state: %w", ErrNotFound)
	}
	return r.GetValue(), r.GetRevision(), nil
}

func (h hostState) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	return h.put(ctx, &pluginv1.PutValueRequest{Key: key, Value: value})
}

func (h hostState) PutIf(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	return h.put(ctx, &pluginv1.PutValueRequest{Key: key, Value: value, IfRevision: &revision})
}

func (h hostState) put(ctx context.Context, request *pluginv1.PutValueRequest) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	r, err := h.client.PutValue(ctx, request)
	if err != nil {
		return 0, hostError(ctx, "put state", err)
	}
	if !r.GetWritten() {
		return r.GetRevision(), fmt.Errorf("put state: %w", ErrConflict)
	}
	return r.GetRevision(), nil
}

func (h hostState) Delete(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	if _, err := h.client.DeleteValue(ctx, &pluginv1.DeleteValueRequest{Key: key}); err != nil {
		return hostError(ctx, "delete state", err)
	}
	return nil
}

func (h hostState) List(ctx context.Context, prefix, after string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	r, err := h.client.ListKeys(ctx, &pluginv1.ListKeysRequest{Prefix: prefix, After: after})
	if err != nil {
		return nil, hostError(ctx, "list state", err)
	}
	return r.GetKeys(), nil
}

type hostOutbox struct {
	client    pluginv1.OutboxClient
	takesRich bool
}

func (h hostOutbox) Post(ctx context.Context, key string, to chat.Address, text string) error {
	return h.PostMessage(ctx, key, to, Post{Text: text})
}

func (h hostOutbox) PostMessage(ctx context.Context, key string, to chat.Address, p Post) error {
	if !h.takesRich && len(p.Media)+len(p.Buttons) > 0 {
		return fmt.Errorf("post: the host is too old for files and buttons: %w", errors.ErrUnsupported)
	}
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	_, err := h.client.Post(ctx, &pluginv1.PostRequest{
		IdempotencyKey: key, Address: wire.AddressToProto(to), Text: wire.Repair(p.Text),
		Media: wire.MediaListToProto(p.Media), Buttons: wire.ButtonsToProto(p.Buttons),
	})
	if err != nil {
		return hostError(ctx, "post", err)
	}
	return nil
}

type hostHistory struct{ client pluginv1.SessionsClient }

func (h hostHistory) Read(
	ctx context.Context, to chat.Address, kind chat.Kind, limit int, before int64,
) ([]chat.TranscriptEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	r, err := h.client.ReadHistory(ctx, &pluginv1.ReadHistoryRequest{
		Address: wire.AddressToProto(to), ChatKind: wire.KindToProto(kind), Limit: uint32(max(0, min(limit, 200))), BeforeId: before,
	})
	if err != nil {
		return nil, hostError(ctx, "read history", err)
	}
	var entries []chat.TranscriptEntry
	for _, e := range r.GetEntries() {
		entry, err := wire.TranscriptEntryFromProto(e)
		if err != nil {
			return nil, fmt.Errorf("read history: %w", err)
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

type hostTranscripts struct{ client pluginv1.SessionsClient }

func (h hostTranscripts) After(ctx context.Context, after int64, limit int) ([]SessionEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	r, err := h.client.ReadTranscripts(ctx, &pluginv1.ReadTranscriptsRequest{AfterId: after, Limit: uint32(max(0, min(limit, 200)))})
	if err != nil {
		return nil, hostError(ctx, "read transcripts", err)
	}
	var entries []SessionEntry
	for _, e := range r.GetEntries() {
		label, session, entry, err := wire.SessionEntryFromProto(e)
		if err != nil {
			return nil, fmt.Errorf("read transcripts: %w", err)
		}
		entries = append(entries, SessionEntry{Agent: label, Session: session, Entry: entry})
	}
	return entries, nil
}
