package hook

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/fleet"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	pageEntries = 100     // read at once
	batchBytes  = 1 << 20 // of text per call, but at least one entry
	// The wait after a failure; it doubles.
	firstWait = time.Second
	lastWait  = 5 * time.Minute
)

// Transcripts is the store of all sessions' histories.
type Transcripts interface {
	// TranscriptAfter returns the entries of all sessions with a greater id, in order.
	TranscriptAfter(ctx context.Context, after int64, limit int) ([]domain.Followed, error)
	// Follower returns the id of the last entry that a follower has accepted. A new one starts at the newest entry.
	Follower(ctx context.Context, name string) (after int64, err error)
	// Followed stores that a follower has accepted all entries up to this one.
	Followed(ctx context.Context, name string, id int64) error
	// TranscriptAppended receives a value when there are new entries.
	TranscriptAppended() <-chan struct{}
}

// Followers send new entries of the sessions' histories to plugins: each entry at least once, those of a session in order.
// A plugin that is down, or fails, gets them later; it does not delay others.
type Followers struct {
	transcripts Transcripts
	plugins     *plugins.Registry
	fleet       *fleet.Fleet
	log         hclog.Logger
}

// NewFollowers returns the followers: the plugins that follow transcripts. They must be the only receiver of
// TranscriptAppended.
func NewFollowers(transcripts Transcripts, plugins *plugins.Registry, f *fleet.Fleet, log hclog.Logger) *Followers {
	return &Followers{transcripts: transcripts, plugins: plugins, fleet: f, log: log}
}

// Run sends entries until ctx ends; it returns when no call is in progress.
func (f *Followers) Run(ctx context.Context) {
	var following sync.WaitGroup
	defer following.Wait()
	wakes := map[string]chan struct{}{} // by name, of all previous followers
	for {
		changed := f.plugins.Changed()
		for _, plugin := range f.plugins.With(remote.TranscriptAppended) {
			if wakes[plugin.Name] == nil {
				wake := make(chan struct{}, 1)
				wakes[plugin.Name] = wake
				following.Go(func() { f.follow(ctx, plugin.Name, wake) })
			}
		}
		for _, wake := range wakes {
			poke(wake)
		}
		var appended <-chan struct{} // nil without followers
		if len(wakes) > 0 {
			appended = f.transcripts.TranscriptAppended()
		}
		select {
		case <-changed:
		case <-appended:
		case <-ctx.Done():
			return
		}
	}
}

// follower is a plugin that follows, in one process.
type follower struct {
	*plugins.Plugin
	cursor string // the name of its position
	known  bool   // after was loaded from the store
	after  int64  // the last accepted entry
}

// follow sends entries to one plugin, whenever it runs here. What a plugin has learned is of use where it answers: one with tools, hooks or
// commands gets all entries on each host. One that only follows gets each entry once, on one of them.
func (f *Followers) follow(ctx context.Context, name string, wake <-chan struct{}) {
	for ctx.Err() == nil {
		plugin, running, stop, err := f.plugins.AwaitOwn(ctx, name)
		if err != nil {
			return
		}
		answers := plugin.Can(remote.Tools) || plugin.Can(remote.BeforeAgentStart) || plugin.Can(remote.Commands)
		switch host := f.fleet.Name(); {
		case !plugin.Can(remote.TranscriptAppended):
			<-running.Done()
		case answers && host != "":
			f.send(running, &follower{Plugin: plugin, cursor: name + "@" + host}, wake)
		default:
			f.fleet.Only(running, "follow "+name, func(ctx context.Context) { f.send(ctx, &follower{Plugin: plugin, cursor: name}, wake) })
		}
		stop()
	}
}

// send sends entries to a plugin until ctx ends.
func (f *Followers) send(ctx context.Context, to *follower, wake <-chan struct{}) {
	wait := firstWait
	for ctx.Err() == nil {
		changed := f.plugins.Changed()
		more, err := f.page(ctx, to)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			f.log.Warn("a plugin did not accept transcript entries; they will be sent again", "plugin", to.Name, "error", err,
				"again_in", wait.String())
			wait = pause(ctx, wait, changed)
		case more:
			wait = firstWait
		default:
			wait = firstWait
			select {
			case <-wake:
			case <-ctx.Done():
			}
		}
	}
}

// pause waits before a retry and returns the next wait. It ends when plugins have changed, so that a restarted one gets its
// entries at once.
func pause(ctx context.Context, wait time.Duration, changed <-chan struct{}) time.Duration {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return min(2*wait, lastWait)
	case <-changed:
		return firstWait
	case <-ctx.Done():
		return wait
	}
}

// page sends the next entries to a plugin, if there are any. More reports whether there may be more.
func (f *Followers) page(ctx context.Context, to *follower) (more bool, err error) {
	if !to.known {
		if to.after, err = f.transcripts.Follower(ctx, to.cursor); err != nil {
			return false, fmt.Errorf("read its position: %w", err)
		}
		to.known = true
	}
	entries, err := f.transcripts.TranscriptAfter(ctx, to.after, pageEntries)
	if err != nil {
		return false, fmt.Errorf("read the transcript: %w", err)
	}
	if len(entries) == 0 {
		return false, nil
	}
	taken, refused := sendAll(ctx, to.Plugin, entries)
	if taken > to.after {
		// What was accepted is stored, even if the plugin has ended since.
		if err := f.transcripts.Followed(context.WithoutCancel(ctx), to.cursor, taken); err != nil {
			return false, fmt.Errorf("store its position: %w", err)
		}
		to.after = taken
	}
	return refused == nil, refused
}

// sendAll sends entries to a plugin. It returns the id up to which all were accepted, zero if none, and the error that stopped
// it. The plugin may have accepted some with greater ids: these are sent again.
func sendAll(ctx context.Context, plugin *plugins.Plugin, entries []domain.Followed) (taken int64, err error) {
	for _, b := range batches(entries) {
		if err := plugin.TranscriptAppended(ctx, b.session, b.entries); err != nil {
			// Batches are ordered by their first entries: everything before this one's was accepted.
			for _, e := range entries {
				if e.Entry.ID >= b.entries[0].ID {
					break
				}
				taken = e.Entry.ID
			}
			return taken, err
		}
	}
	return entries[len(entries)-1].Entry.ID, nil
}

// batch is the content of one call.
type batch struct {
	session string
	entries []chat.TranscriptEntry
	bytes   int
}

// batches groups entries by session. A session with too many bytes has several.
func batches(entries []domain.Followed) []*batch {
	var list []*batch
	open := map[string]*batch{}
	for _, e := range entries {
		b := open[e.Session]
		if b == nil || b.bytes+len(e.Entry.Text) > batchBytes {
			b = &batch{session: e.Session}
			list, open[e.Session] = append(list, b), b
		}
		b.entries = append(b.entries, e.Entry)
		b.bytes += len(e.Entry.Text)
	}
	return list
}
