package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.mau.fi/libsignal/cipher"
	"go.mau.fi/libsignal/signalerror"
	"go.mau.fi/whatsmeow/store"
	"modernc.org/sqlite"

	waLog "go.mau.fi/whatsmeow/util/log"

	"github.com/clawhost/clawhost/plugins/whatsapp/whatsapptest"
)

// ledger is an event buffer in memory.
type ledger struct {
	store.EventBuffer
	found map[[32]byte]*store.BufferedEvent
	takes time.Duration // a transaction
}

func (l *ledger) GetBufferedEvent(_ context.Context, hash [32]byte) (*store.BufferedEvent, error) {
	return l.found[hash], nil
}

func (l *ledger) DoDecryptionTxn(ctx context.Context, decrypt func(context.Context) error) error {
	time.Sleep(l.takes)
	return decrypt(ctx)
}

// TestAMessageIsDecryptedOnce though it comes on two connections at the same time, as it does when the first one breaks.
// The library would acknowledge it on the second, before the first has handed it over.
// Behaviour: whatsapp-ack.
func TestAMessageIsDecryptedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{found: map[[32]byte]*store.BufferedEvent{}, takes: time.Second}
		buffer := &once{l, make(turn, 1)}
		hash := [32]byte{7}
		decrypted := 0
		// What the library does with a message.
		take := func() (*store.BufferedEvent, error) {
			event, err := buffer.GetBufferedEvent(t.Context(), hash)
			if event != nil || err != nil {
				return event, err
			}
			return nil, buffer.DoDecryptionTxn(t.Context(), func(context.Context) error {
				decrypted++
				if decrypted > 1 {
					return signalerror.ErrOldCounter
				}
				l.found[hash] = &store.BufferedEvent{Plaintext: []byte("hello")}
				return nil
			})
		}
		second := make(chan *store.BufferedEvent)
		go func() {
			time.Sleep(time.Millisecond)
			event, err := take()
			if err != nil {
				t.Error(err)
			}
			second <- event
		}()
		if _, err := take(); err != nil {
			t.Error(err)
		}
		if event := <-second; event == nil || string(event.Plaintext) != "hello" || decrypted != 1 {
			t.Errorf("the second time gives %v, after %d decryptions", event, decrypted)
		}
	})
}

// TestAFailingStoreAcknowledgesNothing: the library takes such an error for a shutdown, and leaves the message.
// Behaviour: whatsapp-ack.
func TestAFailingStoreAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	devices, err := openDevices(t.Context(), t.TempDir(), waLog.Noop)
	if err != nil {
		t.Fatal(err)
	}
	_, full := devices.db.ExecContext(t.Context(), "SELECT * FROM nothing")
	if !errors.As(full, new(*sqlite.Error)) {
		t.Fatalf("the store fails with %v", full)
	}
	if err := devices.close(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		failure           error
		cancelled, failed bool
	}{
		{fmt.Errorf("store session: %w", full), true, true},
		{signalerror.ErrNoSenderKeyForUser, false, true},
		{fmt.Errorf("decrypt: %w", signalerror.ErrOldCounter), false, false}, // The library would acknowledge it and not ask for it.
	} {
		buffer := &once{&ledger{}, make(turn, 1)}
		if event, err := buffer.GetBufferedEvent(t.Context(), [32]byte{}); event != nil || err != nil {
			t.Fatal(event, err)
		}
		err := buffer.DoDecryptionTxn(t.Context(), func(context.Context) error { return test.failure })
		if err == nil || errors.Is(err, context.Canceled) != test.cancelled || errors.Is(err, test.failure) != test.failed ||
			errors.Is(err, signalerror.ErrOldCounter) {
			t.Errorf("%v gives %v", test.failure, err)
		}
	}
}

// TestAMessageThatBreaksDecrypting is one that cannot be decrypted: it must not keep the store for itself.
// Behaviour: whatsapp-undecryptable.
func TestAMessageThatBreaksDecrypting(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	folder := t.TempDir()
	adopt(t, whatsapptest.New(t), folder)
	devices, err := openDevices(ctx, folder, waLog.Noop)
	if err != nil {
		t.Fatal(err)
	}
	defer devices.close()
	device, err := devices.device(ctx)
	if err != nil {
		t.Fatal(err)
	}
	decrypt := func(hash byte, ciphertext []byte) (err error) {
		defer func() {
			if cause := recover(); cause != nil {
				t.Errorf("it panics: %v", cause)
			}
		}()
		if _, err := device.EventBuffer.GetBufferedEvent(ctx, [32]byte{hash}); err != nil {
			return err
		}
		return device.EventBuffer.DoDecryptionTxn(ctx, func(context.Context) error {
			_, err := cipher.Decrypt(make([]byte, 16), make([]byte, 32), ciphertext)
			return err
		})
	}
	err = decrypt(1, make([]byte, 17)) // Who has a session with the account can send that.
	if err == nil || ctx.Err() != nil || errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	if err := decrypt(2, []byte("\x00")); err == nil || ctx.Err() != nil {
		t.Errorf("the next one ends with %v", err)
	}
}

func TestTheDeviceStoreOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	devices, err := openDevices(t.Context(), folder, waLog.Noop)
	if err != nil {
		t.Fatal(err)
	}
	defer devices.close()
	var mode, synchronous, file string
	err = errors.Join(
		devices.db.QueryRow("PRAGMA journal_mode").Scan(&mode), devices.db.QueryRow("PRAGMA synchronous").Scan(&synchronous),
		devices.db.QueryRow("SELECT file FROM pragma_database_list").Scan(&file),
	)
	if err != nil || mode != "wal" || synchronous != "1" || filepath.Base(file) != "device.db" {
		t.Errorf("journal_mode %s, synchronous %s, file %s, %v", mode, synchronous, file, err)
	}
}

// TestTheDeviceStoreHasOneWriter: two that step the sessions on would lose some.
func TestTheDeviceStoreHasOneWriter(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	devices, err := openDevices(t.Context(), folder, waLog.Noop)
	if err != nil {
		t.Fatal(err)
	}
	defer devices.close()
	other, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "device.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), "CREATE TABLE mine (id INTEGER)"); err == nil {
		t.Error("another connection may write")
	}
}

// shelf is a session store in memory.
type shelf struct {
	store.SessionStore
	steps int
}

func (s *shelf) GetManySessions(context.Context, []string) (map[string][]byte, error) {
	return map[string][]byte{"anna": {byte(s.steps)}}, nil
}

func (s *shelf) PutManySessions(_ context.Context, sessions map[string][]byte) error {
	s.steps = int(sessions["anna"][0])
	return nil
}

// TestNoStepOfASessionIsUndone though messages go out and come in at the same time, and some sendings break off.
func TestNoStepOfASessionIsUndone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		turn := make(turn, 1)
		sessions := &ratchets{SessionStore: s, turn: turn}
		buffer := &once{&ledger{found: map[[32]byte]*store.BufferedEvent{}, takes: time.Second}, turn}
		const times = 20
		var busy sync.WaitGroup
		for n := range times {
			busy.Go(func() { // A message goes out.
				ctx, end := context.WithCancel(t.Context())
				defer end()
				all, err := sessions.GetManySessions(ctx, []string{"anna"})
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Second)
				if n%5 == 4 {
					return // It breaks off.
				}
				all["anna"][0]++
				if err := sessions.PutManySessions(ctx, all); err != nil {
					t.Error(err)
				}
			})
			busy.Go(func() { // A message comes in.
				if _, err := buffer.GetBufferedEvent(t.Context(), [32]byte{byte(n)}); err != nil {
					t.Error(err)
				}
				if err := buffer.DoDecryptionTxn(t.Context(), func(context.Context) error { s.steps++; return nil }); err != nil {
					t.Error(err)
				}
			})
		}
		busy.Wait()
		if want := times*4/5 + times; s.steps != want {
			t.Errorf("the session made %d steps, want %d", s.steps, want)
		}
	})
}
