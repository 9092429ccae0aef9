package main

import (
	"context"
	"errors"
	"fmt"

	"go.mau.fi/libsignal/signalerror"
	"go.mau.fi/whatsmeow/store"
	"modernc.org/sqlite"
)

// once makes sure that a message is decrypted once.
//
// A Signal session can decrypt a message one time. The library keeps what it has decrypted until the handler has taken
// it, and looks there first when the message is delivered again. But it looks before the transaction in which it
// decrypts: if the connection breaks in between, the message is delivered on the next connection while the first one is
// still being decrypted, is not found, cannot be decrypted a second time, and is acknowledged as an old one. The process
// then has the message in memory alone, and loses it when it ends. So the look and the transaction are made one step here.
//
// The library also acknowledges a message that it could not decrypt because the disk is full or slow. Such an error is
// given to it as a cancellation, after which it leaves the message with the server.
//
// And it acknowledges, as read long ago, a message whose key the session has passed. What was read is found in the buffer;
// what is not found there was passed unread, as when the part that brings a group's key was taken and the plugin ended
// before it took the message itself, which another one has overtaken since. Such an error is given to it as another, after
// which it asks the sender's phone for the message; the host knows it again should it have it after all.
//
// A message can be such that decrypting it panics, which the library recovers from with the transaction left open. It has
// the only connection to the store, so nothing would come or go any more. The panic is an error here, like that of any
// message that cannot be decrypted.
type once struct {
	store.EventBuffer

	turn turn // taken from a look that found nothing to the end of the transaction
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
				err = fmt.Errorf("the message breaks decrypting: %v", cause)
			}
		}()
		return decrypt(ctx)
	})
	if _, ofStore := errors.AsType[*sqlite.Error](err); ofStore {
		return unacknowledged(err)
	}
	if errors.Is(err, signalerror.ErrOldCounter) {
		return errors.New("the key of the message is gone: " + err.Error()) // The library must not know the cause.
	}
	return err
}

// unacknowledged makes an error one after which the library neither acknowledges a message nor asks for it again.
func unacknowledged(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: the device store fails: %w", context.Canceled, err)
}
