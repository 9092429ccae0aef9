package main

import (
	"context"
	"os"
	"testing"
	"time"

	waLog "go.mau.fi/whatsmeow/util/log"
)

// TestTheDeviceStoreClosesBehindWhoWrites: handlers of the library outlive their client. What they have begun is written when
// the store is closed, and what they begin later is not.
func TestTheDeviceStoreClosesBehindWhoWrites(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	devices, err := openDevices(t.Context(), folder, waLog.Noop)
	if err != nil {
		t.Fatal(err)
	}
	begun, goOn, written := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		tx, err := devices.db.BeginTx(context.Background(), nil)
		close(begun)
		if err != nil {
			written <- err
			return
		}
		_, err = tx.Exec("CREATE TABLE late (id INTEGER)")
		<-goOn
		if err == nil {
			err = tx.Commit()
		}
		written <- err
	}()
	<-begun
	closed := make(chan error, 1)
	go func() { closed <- devices.close() }()
	for ticker := time.NewTicker(time.Millisecond); devices.db.Stats().WaitCount == 0; <-ticker.C {
		if len(closed) > 0 {
			t.Fatal("the store is closed while somebody writes to it")
		}
	}
	close(goOn)
	if err := <-written; err != nil {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 1 {
		t.Errorf("the folder has %v, %v; want the store alone", files, err)
	}
	if _, err := devices.db.Exec("INSERT INTO late VALUES (1)"); err == nil {
		t.Error("a store that is closed can be written to")
	}
	again, err := openDevices(t.Context(), folder, waLog.Noop)
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	if _, err := again.db.Exec("INSERT INTO late VALUES (1)"); err != nil {
		t.Errorf("what was written last is lost: %v", err)
	}
}
