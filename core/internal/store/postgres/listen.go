package postgres

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/clawhost/clawhost/core/internal/store/engine"
)

const (
	// announcements is the channel of NOTIFY.
	announcements = "clawhost"
	// mostAnnounced bounds what one NOTIFY carries, which PostgreSQL bounds to 8,000 bytes. More is announced as everything.
	mostAnnounced = 7000
	everything    = "*"
	// listenPause is how long the listener waits before it connects again.
	listenPause = time.Second
	// pollPause is the time between two looks at the database where announcements do not arrive, as behind a pooler, and
	// checkPause that between two checks whether they do.
	pollPause  = 2 * time.Second
	checkPause = 30 * time.Second
)

// newID returns the id of this process in what it announces.
func newID() string { return rand.Text() }

// announcement is what one process tells the others of topics.
func (db *DB) announcement(topics []engine.Topic) string {
	said := make([]string, len(topics))
	for i, topic := range topics {
		said[i] = storable(string(topic))
	}
	text := strings.Join(said, "\n")
	if len(text) > mostAnnounced {
		text = everything
	}
	return db.id + "\n" + text
}

// listener returns a connection that gets what other processes announce.
func (db *DB) listener(ctx context.Context) (*pgx.Conn, error) {
	pooled, err := db.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	c := pooled.Hijack() // the pool must not use it for anything else
	if _, err := c.Exec(ctx, "LISTEN "+announcements); err != nil {
		hangUp(c)
		return nil, err
	}
	return c, nil
}

func hangUp(c *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Close(ctx)
}

// listen passes on what other processes announce, until the database is closed. It begins with a listener, and connects again where that is
// lost. Meanwhile, all who wait look for themselves.
func (db *DB) listen(c *pgx.Conn) {
	for {
		err := db.receive(c)
		hangUp(c)
		if db.closing.Err() != nil {
			return
		}
		db.options.Log.Warn("announcements of other hosts do not arrive; the database is polled until they do", "error", err)
		for c = nil; c == nil; {
			select {
			case <-time.After(listenPause):
			case <-db.closing.Done():
				return
			}
			_ = db.bounded(db.closing, func(ctx context.Context) (err error) {
				c, err = db.listener(ctx)
				return err
			})
			db.pass(nil)
		}
	}
}

// pass passes on what other processes have announced; nil: that is unknown. It does so between two steps of this process: what one
// watches from its commit on must hear of transactions that were committed right after it.
func (db *DB) pass(topics []engine.Topic) {
	select {
	case db.turn <- struct{}{}:
	case <-db.closing.Done():
		return
	}
	defer func() { <-db.turn }()
	if topics == nil {
		db.hub.AnnounceAll()
		return
	}
	db.hub.Announce(topics)
}

// receive passes on what is announced until the connection is lost. From time to time it announces something itself, to learn whether
// announcements arrive: a pooler does not pass them on. Where they do not, all who wait look for themselves.
func (db *DB) receive(c *pgx.Conn) error {
	heard := false
	for {
		pause := pollPause
		if heard {
			pause = checkPause
		}
		ctx, cancel := context.WithTimeout(db.closing, pause)
		n, err := c.WaitForNotification(ctx)
		late := ctx.Err() != nil && db.closing.Err() == nil
		cancel()
		if late {
			heard = false
			db.pass(nil)
			err = db.bounded(db.closing, func(ctx context.Context) error {
				_, err := db.pool.Exec(ctx, "SELECT pg_notify($1, $2)", announcements, db.id)
				return err
			})
			if err == nil {
				err = db.bounded(db.closing, c.Ping)
			}
			if err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		from, text, _ := strings.Cut(n.Payload, "\n")
		switch {
		case from == db.id: // it has announced that already
			heard = true
		case text == everything:
			db.pass(nil)
		default:
			var topics []engine.Topic
			for topic := range strings.SplitSeq(text, "\n") {
				topics = append(topics, engine.Topic(topic))
			}
			db.pass(topics)
		}
	}
}
