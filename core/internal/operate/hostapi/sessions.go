package hostapi

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

const (
	// pageBytes limits the texts of a page: until the plugin has read it, the host holds it. maxPages limits the pages that are
	// looked up for a plugin at a time; further calls wait.
	pageBytes = 768 << 10
	maxPages  = 2
	// maxTranscripts limits a page of all transcripts, in entries.
	maxTranscripts = 200
)

type sessionsServer struct {
	pluginv1.UnimplementedSessionsServer
	caller
}

// ReadHistory returns a page of a transcript.
func (s sessionsServer) ReadHistory(ctx context.Context, r *pluginv1.ReadHistoryRequest) (*pluginv1.ReadHistoryResponse, error) {
	to, kind, err := s.conversation(r.GetAddress(), r.GetChatKind())
	if err != nil {
		return nil, err
	}
	if err := s.program.Reach(to.Channel); err != nil {
		return nil, s.refuse("read history", err)
	}
	limit := 50
	if r.GetLimit() > 0 {
		limit = int(min(r.GetLimit(), 200))
	}
	session, err := s.options.Inbox.Session(ctx, "", to, chat.Chat{ID: to.Chat, Kind: kind})
	if err != nil {
		return nil, s.refuse("read history", err)
	}
	if err := s.waitForPage(ctx); err != nil {
		return nil, err
	}
	defer func() { <-s.pages }()
	entries, err := s.options.Store.Transcript(ctx, session, r.GetBeforeId(), limit)
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return nil, s.refuse("read history", err)
	}
	response := &pluginv1.ReadHistoryResponse{}
	newest := fitting(len(entries), func(i int) *string { return &entries[len(entries)-1-i].Text })
	for _, e := range entries[len(entries)-newest:] {
		response.Entries = append(response.Entries, wire.TranscriptEntryToProto(e))
	}
	return response, nil
}

// ReadTranscripts returns a page of all transcripts.
func (s sessionsServer) ReadTranscripts(
	ctx context.Context, r *pluginv1.ReadTranscriptsRequest,
) (*pluginv1.ReadTranscriptsResponse, error) {
	if !s.options.Plugins.ReadsTranscripts(ctx, s.instance) {
		return nil, status.Errorf(codes.PermissionDenied,
			"the block of plugin %q has no read_transcripts, or the plugin follows no transcripts", s.instance)
	}
	limit := maxTranscripts
	if r.GetLimit() > 0 {
		limit = int(min(r.GetLimit(), maxTranscripts))
	}
	if err := s.waitForPage(ctx); err != nil {
		return nil, err
	}
	defer func() { <-s.pages }()
	entries, err := s.options.Store.TranscriptAfter(ctx, max(0, r.GetAfterId()), limit)
	if err != nil {
		return nil, s.refuse("read transcripts", err)
	}
	response := &pluginv1.ReadTranscriptsResponse{}
	for _, e := range entries[:fitting(len(entries), func(i int) *string { return &entries[i].Entry.Text })] {
		response.Entries = append(response.Entries, wire.SessionEntryToProto(session.AgentOf(e.Session), e.Session, e.Entry))
	}
	return response, nil
}

// waitForPage waits until one more page may be looked up for the plugin.
func (s sessionsServer) waitForPage(ctx context.Context) error {
	select {
	case s.pages <- struct{}{}:
		return nil
	case <-ctx.Done():
		return s.refuse("read history", ctx.Err())
	}
}

// fitting cuts the first n texts to their maximum length and returns how many of them fit into a page.
func fitting(n int, text func(i int) *string) int {
	size := 0
	for i := range n {
		t := text(i)
		*t = wire.Cut(*t, wire.MaxEntry)
		if size += len(*t); size > pageBytes {
			return i
		}
	}
	return n
}
