package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/clawhost/clawhost/sdk"
)

const (
	olderPage = 200  // entries that are read and stored at once
	olderTold = 5000 // entries after which the log says how far it is
	// The wait after a failure; it doubles.
	firstOlderWait = 5 * time.Second
	lastOlderWait  = 10 * time.Minute
)

// older reads the conversations with an agent from before the plugin was switched on, or before its index was lost. It keeps its
// place with what it stores, so a plugin that was killed goes on there.
type older struct {
	agent       string // whose conversations are kept
	source      sdk.Transcripts
	transcripts *transcripts
	log         *slog.Logger

	doing atomic.Pointer[string] // what the plugin says about it; nil: nothing
}

// say sets what the plugin says about it; empty: nothing.
func (o *older) say(doing string) { o.doing.Store(&doing) }

// status returns what the plugin says about it.
func (o *older) status() string {
	if doing := o.doing.Load(); doing != nil {
		return *doing
	}
	return ""
}

// read reads until there are no more, and tries again after failures. Its error is that of a damaged index.
func (o *older) read(ctx context.Context) error {
	for wait := firstOlderWait; ; wait = min(2*wait, lastOlderWait) {
		err := o.pages(ctx)
		o.say("")
		switch {
		case err == nil, ctx.Err() != nil:
			return nil
		case errors.Is(err, errDamaged):
			return err
		case errors.Is(err, sdk.ErrNotGranted), errors.Is(err, errors.ErrUnsupported):
			o.log.Info("conversations from before this plugin was switched on are not recalled", "reason", err)
			return nil
		}
		o.say("older conversations cannot be indexed now; another try follows")
		o.log.Warn("older conversations cannot be read now", "error", err, "again_in", wait.String())
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}

// pages reads page after page.
func (o *older) pages(ctx context.Context) error {
	last, done, err := o.place(ctx)
	if err != nil || done {
		return err
	}
	read := 0
	for {
		page, err := o.source.After(ctx, last, olderPage)
		if err != nil {
			return err
		}
		if read == 0 && len(page) > 0 {
			o.log.Info("older conversations are being indexed", "after_entry", last)
		}
		if len(page) > 0 {
			last = page[len(page)-1].Entry.ID
		}
		done := len(page) == 0
		if err := o.transcripts.add(ctx, o.own(page), func(tx *sql.Tx) error { return keepPlace(ctx, tx, last, done) }); err != nil {
			return err
		}
		if done {
			o.log.Info("older conversations are indexed", "entries", read)
			return nil
		}
		o.say(fmt.Sprintf("indexing older conversations: %d entries since the start, up to %s", read+len(page),
			page[len(page)-1].Entry.At.Format(time.DateOnly)))
		if read/olderTold != (read+len(page))/olderTold {
			o.log.Info("older conversations are being indexed", "entries", read+len(page),
				"up_to", page[len(page)-1].Entry.At.Format(time.DateOnly))
		}
		read += len(page)
	}
}

// own returns the entries of the agent's sessions that are kept, with the keys that its index has.
func (o *older) own(page []sdk.SessionEntry) (own []sdk.SessionEntry) {
	for _, e := range page {
		e.Session = keyOf(o.agent, e.Session)
		if labelOf(e.Agent) == o.agent && !isShared(e.Session) {
			own = append(own, e)
		}
	}
	return own
}

// isShared reports whether several people may have a session's direct chats: it is unknown who used it before, so it
// is left out. Its key is "main" or "peer:<identity>".
func isShared(session string) bool {
	identity, ok := strings.CutPrefix(session, "peer:")
	return session == "main" || ok && !strings.Contains(identity, ":")
}

// place returns the last entry that was read, and whether it was the last of all.
func (o *older) place(ctx context.Context) (last int64, done bool, err error) {
	err = o.transcripts.index.read.QueryRowContext(ctx, "SELECT last, done FROM older").Scan(&last, &done)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, false, fmt.Errorf("look up older conversations: %w", damage(err))
	}
	return last, done, nil
}

func keepPlace(ctx context.Context, tx *sql.Tx, last int64, done bool) error {
	_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO older (one, last, done) VALUES (1, ?, ?)", last, done)
	return err
}
