package main

import (
	"context"
	"sync"

	"go.mau.fi/whatsmeow/store"
)

// ratchets has a message encrypted or decrypted at a time.
//
// Each message moves its session a step on. To send one the library reads the sessions, encrypts, and writes them back; if
// it decrypts a message of the same person in between, one of the two steps is undone. A key is used twice then, and the
// person's phone cannot read what is encrypted by it. So reading the sessions takes the turn that decrypting takes too,
// and writing them, or the end of the sending, gives it back.
type ratchets struct {
	store.SessionStore
	turn turn

	mu   sync.Mutex
	give func() // gives back the turn that a sending has; nil: none has it
}

// turn holds one entry while somebody works with the sessions.
type turn chan struct{}

// take waits for the turn.
func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) giveBack() { <-t }

// GetManySessions implements store.SessionStore. The library calls it when it begins to encrypt; ctx ends with the sending.
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

// PutManySessions implements store.SessionStore. The library calls it when it has encrypted.
func (r *ratchets) PutManySessions(ctx context.Context, sessions map[string][]byte) error {
	defer r.done(ctx)
	return r.SessionStore.PutManySessions(ctx, sessions)
}

// done gives the turn back, unless the sending has ended: then it was, and may be another's.
func (r *ratchets) done(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() == nil && r.give != nil {
		r.give()
		r.give = nil
	}
}
