package main

import (
	"context"
	"sync"

	"go.mau.fi/whatsmeow/store"
)

// ratchets serialises encryption and decryption.
//
// Each message advances its session. To send one the library reads the sessions, encrypts, and writes them back; if it
// decrypts a message of the same person in between, one of the two updates is lost. A key is then used twice, and the
// person's phone cannot decrypt the message. So reading the sessions acquires the lock that decryption also acquires, and
// writing them, or the end of the send, releases it.
type ratchets struct {
	store.SessionStore
	turn turn

	mu   sync.Mutex
	give func() // releases the lock of a send; nil: not held
}

// turn is the lock on the sessions. It holds one entry while it is taken.
type turn chan struct{}

// take acquires the lock.
func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) giveBack() { <-t }

// GetManySessions implements store.SessionStore. The library calls it before it encrypts; ctx ends with the send.
func (r *ratchets) GetManySessions(ctx context.Context, addresses []string) (map[string][]byte, error) {
	if err := r.turn.take(ctx); err != nil {
		return nil, err
	}
	give := sync.OnceFunc(r.turn.giveBack)
	stop := context.AfterFunc(ctx, give)
	r.mu.Lock()
	r.give = func() { stop(); give() }
	r.mu.Unlock()
	sessions, err := r.SessionStore.GetManySessions(ctx, addresses)
	if err != nil {
		r.done(ctx)
	}
	return sessions, err
}

// PutManySessions implements store.SessionStore. The library calls it after it has encrypted.
func (r *ratchets) PutManySessions(ctx context.Context, sessions map[string][]byte) error {
	defer r.done(ctx)
	return r.SessionStore.PutManySessions(ctx, sessions)
}

// done releases the lock, unless the send has ended: then it was released, and may be held by another.
func (r *ratchets) done(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() == nil && r.give != nil {
		r.give()
		r.give = nil
	}
}
