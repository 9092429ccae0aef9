package sqlite

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// maxReaders limits the connections that read alongside the writer.
const maxReaders = 3

// readers are connections that are opened as they are needed, and stay open: to open one, and to prepare its statements
// again, takes longer than what it reads.
type readers struct {
	path   string
	places chan struct{} // holds a value for each connection in use
	closed chan struct{}
	idle   chan *connection
}

func newReaders(path string) *readers {
	return &readers{
		path: path, places: make(chan struct{}, maxReaders), closed: make(chan struct{}), idle: make(chan *connection, maxReaders),
	}
}

// take returns a connection that the end of ctx interrupts. The caller gives it back.
func (r *readers) take(ctx context.Context) (c *connection, err error) {
	select {
	case r.places <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.closed:
		return nil, engine.ErrClosed
	}
	select {
	case c = <-r.idle:
	default:
		if c, err = connect(r.path, "query_only = 1", "cache_size = -256"); err != nil {
			<-r.places
			return nil, err
		}
	}
	c.SetInterrupt(ctx.Done())
	return c, nil
}

// Query implements [engine.Reader].
func (r *readers) Query(ctx context.Context, query string, args []any, scan func(engine.Rows) error) error {
	c, err := r.take(ctx)
	if err != nil {
		return err
	}
	defer r.give(c)
	return c.Query(ctx, query, args, scan)
}

func (r *readers) give(c *connection) {
	c.SetInterrupt(nil)
	r.idle <- c
	<-r.places
}

// statements returns the texts that connections have prepared. It waits for those in use.
func (r *readers) statements() (texts []string) {
	for range maxReaders {
		r.places <- struct{}{}
	}
	for range len(r.idle) {
		c := <-r.idle
		texts = slices.AppendSeq(texts, maps.Keys(c.prepared))
		r.idle <- c
	}
	for range maxReaders {
		<-r.places
	}
	return texts
}

// close waits for the connections in use. It is called once.
func (r *readers) close() (err error) {
	close(r.closed)
	for range maxReaders {
		r.places <- struct{}{}
	}
	close(r.idle)
	for c := range r.idle {
		err = errors.Join(err, c.Close())
	}
	return err
}
