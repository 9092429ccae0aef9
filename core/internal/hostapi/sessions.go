package hostapi

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/core/internal/domain"
	pluginv1 "github.com/clawhost/clawhost/proto/clawhost/plugin/v1"
	"github.com/clawhost/clawhost/sdk/wire"
)

const (
	// historyBytes limits a page of history, far below the maximum size of a gRPC message.
	historyBytes = 8 << 20
	// maxTranscripts limits a page of all transcripts, in entries.
	maxTranscripts = 200
)

type sessionsServer struct {
	pluginv1.UnimplementedSessionsServer
	caller
}

// ReadHistory returns a page of a transcript.
func (s sessionsServer) ReadHistory(ctx context.Context, r *pluginv1.ReadHistoryRequest) (*pluginv1.ReadHistoryResponse, error) {
	to, c, err := s.conversation(r.GetAddress(), r.GetChatKind())
	if err != nil {
		return nil, err
	}
	limit := 50
	if r.GetLimit() > 0 {
		limit = int(min(r.GetLimit(), 200))
	}
	session, err := s.options.Inbox.Session(ctx, to.Channel, c, to.Thread)
	if err != nil {
		return nil, s.refuse("read history", err)
	}
	entries, err := s.options.Store.Transcript(ctx, session, r.GetBeforeId(), limit)
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return nil, s.refuse("read history", err)
	}
	response, size := &pluginv1.ReadHistoryResponse{}, 0
	for _, e := range entries {
		size += len(e.Text)
	}
	for _, e := range entries {
		if size -= len(e.Text); size+len(e.Text) > historyBytes {
			continue // keep the newest entries
		}
		response.Entries = append(response.Entries, wire.TranscriptEntryToProto(e))
	}
	return response, nil
}

// ReadTranscripts returns a page of all transcripts.
func (s sessionsServer) ReadTranscripts(ctx context.Context, r *pluginv1.ReadTranscriptsRequest) (*pluginv1.ReadTranscriptsResponse, error) {
	if !s.options.Grants.ReadsTranscripts(ctx, s.instance) {
		return nil, status.Errorf(codes.PermissionDenied, "the block of plugin %q has no read_transcripts, or the plugin follows no transcripts", s.instance)
	}
	limit := maxTranscripts
	if r.GetLimit() > 0 {
		limit = int(min(r.GetLimit(), maxTranscripts))
	}
	entries, err := s.options.Store.TranscriptAfter(ctx, max(0, r.GetAfterId()), limit)
	if err != nil {
		return nil, s.refuse("read transcripts", err)
	}
	response, size := &pluginv1.ReadTranscriptsResponse{}, 0
	for _, e := range entries {
		if size += len(e.Entry.Text); size > historyBytes && len(response.Entries) > 0 {
			break // keep the oldest entries; the next page begins after them
		}
		response.Entries = append(response.Entries, &pluginv1.SessionEntry{SessionKey: e.Session, Entry: wire.TranscriptEntryToProto(e.Entry)})
	}
	return response, nil
}
