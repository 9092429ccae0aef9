package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/process"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// maxTogether is how many bytes are fetched for the messages of one turn.
	maxTogether = 256 << 20
	// sideBySide is how many files of a turn are fetched at the same time.
	sideBySide = 4
	// tryTime bounds one try to fetch a file, and idleTime the time in which nothing of it comes.
	tryTime  = 3 * time.Minute
	idleTime = 20 * time.Second
	// patience is how long after the first try another one begins. Between them is a pause that doubles.
	patience     = 2 * time.Minute
	firstPause   = 500 * time.Millisecond
	longestPause = 15 * time.Second
	// inPlace is how long a turn waits, in its place, for what is missing and is no fault of its files.
	inPlace = 5 * time.Second
)

// unfetched is the problem of a file that could not be had for reasons that mean nothing to the agent.
const unfetched = "could not be fetched"

// ErrAway says that a channel does not run, and is started again by itself.
var ErrAway = errors.New("the channel is not running")

// Network fetches a file of a channel's by its token. Its errors, and those of reading, are a [*chat.FileError] where the
// channel has given a reason, and [ErrAway] where it is none of the file's.
type Network interface {
	FetchFile(ctx context.Context, instance string, token chat.FileToken, most int64) (io.ReadCloser, error)
}

// Bringer brings the files of messages to where the agent can read them, out of the network where they are still there. It is
// safe for concurrent use.
type Bringer struct {
	files      *Files
	inbound    *Inbound
	network    Network
	log        hclog.Logger
	complaints complaints
}

// NewBringer returns a bringer.
func NewBringer(files *Files, inbound *Inbound, network Network, log hclog.Logger) *Bringer {
	return &Bringer{files: files, inbound: inbound, network: network, log: log, complaints: complaints{log: log}}
}

// Bring returns messages with each of their files, and of those that they answer, in the workspace, or with the reason why it
// cannot be had. What was fetched once is not fetched again, so that the next attempt of a turn finds it. The error is that of ctx,
// or an [*agent.Failure] that says that files cannot be had for now, which is not counted against them.
func (b *Bringer) Bring(ctx context.Context, messages ...domain.Queued) ([]domain.Queued, error) {
	messages = slices.Clone(messages)
	var room atomic.Int64
	room.Store(b.together())
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sideBySide)
	bring := func(instance string, list []chat.Media) []chat.Media {
		list = slices.Clone(list)
		for i := range list {
			if list[i].Ref != "" || list[i].Token != "" {
				group.Go(func() error { return b.bring(ctx, instance, &list[i], &room) })
			}
		}
		return list
	}
	for i := range messages {
		m := &messages[i].Message
		m.Media = bring(m.Channel, m.Media)
		if m.ReplyTo != nil && len(m.ReplyTo.Media) > 0 {
			quote := *m.ReplyTo
			quote.Media = bring(m.Channel, quote.Media)
			m.ReplyTo = &quote
		}
	}
	return messages, group.Wait()
}

// together is how many bytes are fetched for the messages of one turn.
func (b *Bringer) together() int64 { return max(maxTogether, b.files.maxBytes) }

// bring brings one file. Its errors are those of [Bringer.Bring].
func (b *Bringer) bring(ctx context.Context, instance string, m *chat.Media, room *atomic.Int64) error {
	began := time.Now()
	var lacking time.Time // since when something is missing
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		tried := time.Now()
		err := b.try(ctx, instance, m, room)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		wait := pause
		if failure := missing(err); failure != nil {
			if lacking.IsZero() {
				lacking, pause, wait = tried, firstPause, firstPause
			}
			if time.Since(lacking)+wait > inPlace {
				return failure
			}
			began = began.Add(time.Since(tried) + wait) // it is not the file's fault
		} else {
			lacking = time.Time{}
			m.Problem = b.problem(err)
			if failed, ok := errors.AsType[*chat.FileError](err); ok {
				wait = max(wait, failed.RetryAfter)
			}
			if m.Problem == "" && time.Since(began)+wait > patience {
				m.Problem = unfetched
			}
			if m.Problem != "" {
				b.complaints.warn("a file cannot be had; its turn goes on without it", "channel", instance, "kind", m.Kind.String(), "bytes", m.Size, "error", err)
				m.Token = ""
				return nil
			}
			b.log.Debug("a file is fetched again", "channel", instance, "in", wait.String(), "error", err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// problem is why a file can never be had; empty: another try may succeed.
func (b *Bringer) problem(err error) string {
	if failed, ok := errors.AsType[*chat.FileError](err); ok {
		return failed.Problem
	}
	if why, ok := errors.AsType[reason](err); ok {
		return why.Error()
	}
	switch {
	case errors.Is(err, ErrTooLarge):
		return "is larger than " + b.files.Most()
	case errors.Is(err, ErrNotAccepted):
		return err.Error()
	case errors.Is(err, errors.ErrUnsupported): // the plugin is an older one by now
		return unfetched
	}
	return ""
}

// try fetches a file, unless it is there, and puts it into the workspace.
func (b *Bringer) try(ctx context.Context, instance string, m *chat.Media, room *atomic.Int64) error {
	if m.Ref == "" {
		if err := b.fetch(ctx, instance, m, room); err != nil {
			return err
		}
	}
	_, _, err := b.inbound.Show(instance, *m)
	switch {
	case errors.Is(err, domain.ErrNotFound) && m.Token != "": // it was the oldest, and room was made
		m.Ref = ""
		return err
	case missing(err) != nil:
		return err
	}
	return nil // what else is wrong is told by the one who shows it
}

// fetch has a file in the host's own folder.
func (b *Bringer) fetch(ctx context.Context, instance string, m *chat.Media, room *atomic.Int64) (err error) {
	size := m.Size // as it is said to be
	switch {
	case b.files.fetched(instance, m):
		return nil
	case m.Size > b.files.maxBytes:
		return ErrTooLarge
	case room.Add(-size) < 0:
		room.Add(size)
		return reason("is one of several files with more than the " + megabytes(b.together()) + " that are fetched together")
	}
	defer func() {
		if err != nil {
			room.Add(size)
		} else {
			room.Add(size - m.Size)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	idle := time.AfterFunc(idleTime, cancel)
	defer idle.Stop()
	source, err := b.network.FetchFile(ctx, instance, m.Token, b.files.maxBytes)
	if err != nil {
		return err
	}
	defer source.Close()
	content := &arriving{Reader: source, idle: idle}
	err = b.files.putFetched(instance, m, content)
	if content.err != nil { // whatever became of the rest
		return fmt.Errorf("fetch a file: %w", content.err)
	}
	return err
}

// arriving is a file as it comes. Its own errors are told from those of whoever writes it down.
type arriving struct {
	io.Reader
	idle *time.Timer
	err  error
}

// Read implements io.Reader.
func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if n > 0 {
		a.idle.Reset(idleTime)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		a.err = err
	}
	return n, err
}

// missing returns the failure of a turn that needs what is missing for now, and that is no fault of its files; nil: an error says
// something else.
func missing(err error) *agent.Failure {
	failure := &agent.Failure{Class: agent.NoRoom, Err: err}
	if errors.Is(err, ErrAway) {
		failure.Class = agent.ChannelAway
		return failure
	}
	if why, ok := errors.AsType[syscall.Errno](err); ok && process.Exhausted(err) {
		failure.Detail = why.Error()
		return failure
	}
	if failed, ok := errors.AsType[*chat.FileError](err); ok && failed.NoRoom {
		failure.Detail = "a plugin has no room for a file"
		return failure
	}
	return nil
}
