package postgres

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

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
)

// newID returns the id of this process in what it announces.
func newID() string { return rand.Text() }

// publish announces to other processes what a transaction changes, if it is committed.
func (db *DB) publish(ctx context.Context, c *pgxpool.Conn, topics []engine.Topic) error {
	if len(topics) == 0 {
		return nil
	}
	said := make([]string, len(topics))
	for i, topic := range topics {
		said[i] = legible(string(topic))
	}
	text := strings.Join(said, "\n")
	if len(text) > mostAnnounced {
		text = everything
	}
	_, err := c.Exec(ctx, "SELECT pg_notify($1, $2)", announcements, db.id+"\n"+text)
	return err
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
// lost.
func (db *DB) listen(c *pgx.Conn) {
	for {
		err := db.hear(c)
		hangUp(c)
		for c = nil; c == nil; {
			if db.closing.Err() != nil {
				return
			}
			db.options.Log.Warn("announcements of other hosts do not arrive; the database is polled until they do", "error", err)
			select {
			case <-time.After(listenPause):
			case <-db.closing.Done():
				return
			}
			if c, err = db.listener(db.closing); err == nil {
				db.hub.AnnounceAll() // what was announced meanwhile is lost
			}
		}
	}
}

// hear passes on what is announced until the connection is lost.
func (db *DB) hear(c *pgx.Conn) error {
	for {
		n, err := c.WaitForNotification(db.closing)
		if err != nil {
			return err
		}
		from, text, _ := strings.Cut(n.Payload, "\n")
		switch {
		case from == db.id: // announced already
		case text == everything:
			db.hub.AnnounceAll()
		default:
			var topics []engine.Topic
			for topic := range strings.SplitSeq(text, "\n") {
				topics = append(topics, engine.Topic(topic))
			}
			db.hub.Announce(topics)
		}
	}
}
