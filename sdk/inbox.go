package sdk

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// How Submit tries again. The host answers within the time of a disk write. It takes longer while it shuts down or its
// disk is slow, which may last.
const (
	submitTimeout   = 30 * time.Second
	submitFirstWait = 100 * time.Millisecond
	submitLastWait  = 5 * time.Second
)

// inbox is the [Inbox] of one Run.
type inbox struct {
	plugin *plugin
	client pluginv1.InboxClient
	store  Media // nil if the host fetches files by their tokens
	typing *typings

	mu     sync.Mutex // a stream takes one Send at a time, and none after its end
	stream grpc.ServerStreamingServer[pluginv1.RunResponse]
}

func (p *plugin) newInbox(stream grpc.ServerStreamingServer[pluginv1.RunResponse]) *inbox {
	p.mu.Lock()
	defer p.mu.Unlock()
	client := pluginv1.NewInboxClient(p.conn)
	in := &inbox{plugin: p, client: client, typing: newTypings(client, p.log), stream: stream}
	if !p.fetches {
		in.store = hostMedia{pluginv1.NewMediaStoreClient(p.conn)}
	}
	return in
}

// end detaches the inbox from Run's stream: later reports are lost.
func (in *inbox) end() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.stream = nil
}

// Submit implements [Inbox].
func (in *inbox) Submit(ctx context.Context, e chat.Event) (chat.Verdict, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(in.plugin.alive, cancel)()

	ctx = in.plugin.traced(ctx, string(e.ID), time.Now())
	in.typing.sent(e)
	if in.store != nil {
		e = in.fetchAndUpload(ctx, e)
	}
	event := wire.EventToProto(e)
	if _, err := wire.EventFromProto(event); err != nil {
		// The host would reject it each time that the network delivers the event again.
		in.plugin.log.Error("dropping an invalid event", "event", string(e.ID), "error", err)
		return chat.Rejected, nil
	}
	for wait := submitFirstWait; ; wait = min(2*wait, submitLastWait) {
		verdict, err := in.try(ctx, event)
		if err == nil {
			return verdict, nil
		}
		if ctx.Err() != nil || !retryable(err) {
			return 0, fmt.Errorf("submit event %s: %w", e.ID, err)
		}
		in.plugin.log.Warn("the host cannot accept events now", "event", string(e.ID), "error", err, "again_in", wait)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, fmt.Errorf("submit event %s: %w", e.ID, ctx.Err())
		}
	}
}

func (in *inbox) try(ctx context.Context, event *pluginv1.Event) (chat.Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, submitTimeout)
	defer cancel()
	response, err := in.client.Submit(ctx, &pluginv1.SubmitRequest{Event: event})
	if err != nil {
		return 0, err
	}
	verdict, err := wire.VerdictFromProto(response.GetVerdict())
	if err != nil {
		return 0, err
	}
	if verdict == chat.Rejected {
		in.plugin.log.Debug("the host rejected an event", "event", event.GetEventId(), "reason", response.GetReason())
	}
	return verdict, nil
}

// retryable reports whether the host may accept the same event later.
func retryable(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.ResourceExhausted, codes.DeadlineExceeded:
		return true
	default:
		return false
	}
}

// Typing implements [Inbox].
func (in *inbox) Typing(t chat.Typing) { in.typing.add(t) }

// Report implements [Inbox].
func (in *inbox) Report(s chat.State, detail string) { in.ReportURL(s, detail, "") }

// ReportURL implements [Inbox].
func (in *inbox) ReportURL(s chat.State, detail, url string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.stream == nil {
		return
	}
	// An error means that the host is gone; Run's context has ended then, too.
	_ = in.stream.Send(&pluginv1.RunResponse{
		State:   wire.StateToProto(s),
		Detail:  wire.Cut(in.plugin.redact.text(detail), wire.MaxDetail),
		OpenUrl: wire.Repair(url),
	})
}
