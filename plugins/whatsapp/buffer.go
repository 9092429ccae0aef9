package main

import (
	"context"
	"errors"
	"fmt"

	"go.mau.fi/libsignal/signalerror"
	"go.mau.fi/whatsmeow/store"
	"modernc.org/sqlite"
)

// once ensures that a message is decrypted once.
//
// A Signal session can decrypt a message only once. The library buffers the decrypted message until the handler has
// accepted it, and looks there first when the message is redelivered. But it looks before the transaction in which it
// decrypts: if the connection breaks in between, the message is redelivered on the next connection while it is still being
// decrypted on the first, is not found, cannot be decrypted a second time, and is acknowledged as old. The process then has
// the message in memory only, and loses it when it ends. So here the lookup and the transaction are one step.
//
// The library also acknowledges a message that it could not decrypt because the disk is full or slow. Such an error is
// passed to it as a cancellation, after which it leaves the message on the server.
//
// It also acknowledges, as already read, a message whose key the session has passed. A message that was read is in the
// buffer; one that is not there was passed unread, as when the part with a group's key was handled and the plugin ended
// before it handled the message itself, which another one has overtaken since. Such an error is replaced by another, after
// which the library requests the message from the sender's phone; the host recognises a duplicate.
//
// Decrypting a malformed message may panic. The library recovers but leaves the transaction open, and so blocks the only
// connection to the store forever. Here the panic becomes an error, as for any message that cannot be decrypted.
type once struct {
	store.EventBuffer

	turn turn // held from a failed lookup to the end of the transaction
}

// GetBufferedEvent implements store.EventBuffer. When it finds nothing, the library calls DoDecryptionTxn next.
func (o *once) GetBufferedEvent(ctx context.Context, ciphertextHash [32]byte) (*store.BufferedEvent, error) {
	if err := o.turn.take(ctx); err != nil {
		return nil, err
	}
	event, err := o.EventBuffer.GetBufferedEvent(ctx, ciphertextHash)
	if event != nil || err != nil {
		o.turn.giveBack()
		return event, unacknowledged(err)
	}
	return nil, nil
}

// DoDecryptionTxn implements store.EventBuffer.
func (o *once) DoDecryptionTxn(ctx context.Context, decrypt func(context.Context) error) error {
	defer o.turn.giveBack()
	err := o.EventBuffer.DoDecryptionTxn(ctx, func(ctx context.Context) (err error) {
		defer func() {
			if cause := recover(); cause != nil {
				err = fmt.Errorf("panic while decrypting: %v", cause)
			}
		}()
		return decrypt(ctx)
	})
	if _, ofStore := errors.AsType[*sqlite.Error](err); ofStore {
		return unacknowledged(err)
	}
	if errors.Is(err, signalerror.ErrOldCounter) {
		return errors.New("the key of the message is gone: " + err.Error()) // the library must not see the cause
	}
	return err
}

// unacknowledged wraps an error so that the library neither acknowledges a message nor requests it again.
func unacknowledged(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: the device store fails: %w", context.Canceled, err)
}
