package files

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

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/budget"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/media/filetype"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// maxTogether limits the bytes that are fetched for the messages of one turn.
	maxTogether = 256 << 20
	// sideBySide limits the concurrent fetches of a turn.
	sideBySide = 4
	// tryTime limits one attempt to fetch a file, and idleTime the time without data.
	tryTime  = 3 * time.Minute
	idleTime = 20 * time.Second
	// patience is how long after the first attempt another one may start. The wait between attempts doubles.
	patience     = 2 * time.Minute
	firstPause   = 500 * time.Millisecond
	longestPause = 15 * time.Second
	// inPlace is how long a turn waits, keeping its place, for resources that its files are not responsible for.
	inPlace = 5 * time.Second
)

// unfetched is the problem of a file that is unavailable for reasons that mean nothing to the agent.
const unfetched = "could not be fetched"

// Network fetches a channel's file by its token. Its errors, including those of reading, are a [*chat.FileError] if the
// channel gave a reason, and [plugins.ErrAway] if the file is not at fault.
type Network interface {
	FetchFile(ctx context.Context, instance string, token chat.FileToken, most int64) (io.ReadCloser, error)
}

// Bringer makes the files of messages readable for the agent, and fetches them from the network if necessary. It is safe
// for concurrent use.
type Bringer struct {
	files    *Store
	network  Network
	log      hclog.Logger
	warnings *budget.Warnings
}

// NewBringer returns a bringer.
func NewBringer(files *Store, network Network, log hclog.Logger) *Bringer {
	return &Bringer{files: files, network: network, log: log, warnings: budget.NewWarnings(log, "files and pages")}
}

// Bring returns messages whose files, and those of their quotes, are in a workspace, or have a problem. A fetched file is
// not fetched again by the next attempt of a turn. The error is that of ctx, or an [*agent.Failure] if files are
// temporarily unavailable, which is not counted against them.
func (b *Bringer) Bring(ctx context.Context, to *Inbound, messages ...domain.Queued) ([]domain.Queued, error) {
	messages = slices.Clone(messages)
	var budget atomic.Int64
	budget.Store(b.together())
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sideBySide)
	bring := func(instance string, list []chat.Media) []chat.Media {
		list = slices.Clone(list)
		for i := range list {
			if list[i].Ref != "" || list[i].Token != "" {
				group.Go(func() error { return b.bring(ctx, to, instance, &list[i], &budget) })
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

// together returns the maximum bytes that are fetched for the messages of one turn.
func (b *Bringer) together() int64 { return max(maxTogether, b.files.maxBytes) }

// bring makes one file readable. Its errors are those of [Bringer.Bring].
func (b *Bringer) bring(ctx context.Context, to *Inbound, instance string, m *chat.Media, budget *atomic.Int64) error {
	began := time.Now()
	var lacking time.Time // since when resources are missing
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		tried := time.Now()
		err := b.try(ctx, to, instance, m, budget)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		wait := pause
		if failure := Unavailable(err); failure != nil {
			if lacking.IsZero() {
				lacking, pause, wait = tried, firstPause, firstPause
			}
			if time.Since(lacking)+wait > inPlace {
				return failure
			}
			began = began.Add(time.Since(tried) + wait) // not the file's fault
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
				b.warnings.Warn("a file is not available; its turn goes on without it", "channel", instance,
					"kind", m.Kind.String(), "bytes", m.Size, "error", err)
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

// problem returns why a file is permanently unavailable; empty: a retry may succeed.
func (b *Bringer) problem(err error) string {
	if failed, ok := errors.AsType[*chat.FileError](err); ok {
		return failed.Problem
	}
	if why, ok := errors.AsType[wording.Reason](err); ok {
		return why.Error()
	}
	switch {
	case errors.Is(err, ErrTooLarge):
		return "is larger than " + b.files.Most()
	case errors.Is(err, ErrNotAccepted):
		return err.Error()
	case errors.Is(err, errors.ErrUnsupported): // the plugin was replaced by an older version
		return unfetched
	}
	return ""
}

// try fetches a file, unless it is stored, and copies it to the workspace.
func (b *Bringer) try(ctx context.Context, to *Inbound, instance string, m *chat.Media, budget *atomic.Int64) error {
	if m.Ref == "" {
		if err := b.fetch(ctx, instance, m, budget); err != nil {
			return err
		}
	}
	_, _, err := to.Show(ctx, instance, *m)
	switch {
	case errors.Is(err, domain.ErrNotFound) && m.Token != "": // it was removed as the oldest to free space
		m.Ref = ""
		return err
	case Unavailable(err) != nil, errors.Is(err, errUnread):
		return err
	}
	return nil // other errors are reported when it is shown
}

// fetch stores a file in the host's own folder.
func (b *Bringer) fetch(ctx context.Context, instance string, m *chat.Media, budget *atomic.Int64) (err error) {
	size := m.Size // as announced
	switch {
	case b.files.fetched(ctx, instance, m):
		return nil
	case m.Size > b.files.maxBytes:
		return ErrTooLarge
	case budget.Add(-size) < 0:
		budget.Add(size)
		return wording.FilesTooLarge(filetype.Megabytes(b.together()))
	}
	defer func() {
		if err != nil {
			budget.Add(size)
		} else {
			budget.Add(size - m.Size)
		}
	}()
	limited, cancel := context.WithTimeout(ctx, tryTime) // does not limit the database, which takes its time after the last byte
	defer cancel()
	idle := time.AfterFunc(idleTime, cancel)
	defer idle.Stop()
	source, err := b.network.FetchFile(limited, instance, m.Token, b.files.maxBytes)
	if err != nil {
		return err
	}
	defer source.Close()
	content := &arriving{Reader: source, idle: idle}
	err = b.files.putFetched(ctx, instance, m, content)
	if content.err != nil { // in any case
		return fmt.Errorf("fetch a file: %w", content.err)
	}
	return err
}

// arriving is a file in transfer. Its own errors are distinguished from write errors.
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

// Unavailable returns the failure of a turn that lacks resources temporarily, without its files being at fault; nil for other
// errors.
func Unavailable(err error) *agent.Failure {
	failure := &agent.Failure{Class: agent.NoSpace, Err: err}
	if errors.Is(err, plugins.ErrAway) {
		failure.Class = agent.ChannelAway
		return failure
	}
	if why, ok := errors.AsType[syscall.Errno](err); ok && process.Exhausted(err) {
		failure.Detail = why.Error()
		return failure
	}
	if failed, ok := errors.AsType[*chat.FileError](err); ok && failed.NoSpace {
		failure.Detail = "a plugin has no space for a file"
		return failure
	}
	return nil
}
