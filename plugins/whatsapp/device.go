package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/store/sqlstore"
	waLog "go.mau.fi/whatsmeow/util/log"
	"modernc.org/sqlite"
)

// devices is the store of the linked device's keys and sessions. Who has the file is the device.
type devices struct {
	*sqlstore.Container
	db *sql.DB
}

// openDevices opens the store in a folder, or makes it. It is for one process at a time.
func openDevices(ctx context.Context, folder string, log waLog.Logger) (*devices, error) {
	path := filepath.Join(folder, "device.db")
	// SQLite gives its other files the rights of the first.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open device store: %w", err)
	}
	if err := errors.Join(file.Chmod(0o600), file.Close()); err != nil {
		return nil, fmt.Errorf("open device store: %w", err)
	}
	// One connection has the file for itself: statements need not tell other connections what they do, and no second process
	// can lose sessions. Whoever waits for the connection has it not, and holds no lock that who has it may want.
	//
	// A commit outlives the process but not a power cut, which takes the sessions some steps back: what was not
	// acknowledged then is decrypted again, and what phones cannot decrypt they ask for. The messages themselves the host
	// has on disk.
	db := sql.OpenDB(statements{&sqlite.Driver{}, "file:" + path + "?_pragma=busy_timeout(30000)&_pragma=foreign_keys(1)" +
		"&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=locking_mode(EXCLUSIVE)&_txlock=immediate"})
	db.SetMaxOpenConns(1)
	container := sqlstore.NewWithDB(db, "sqlite", log)
	if err := container.Upgrade(ctx); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("open device store: %w", err)
	}
	return &devices{container, db}, nil
}

// parting is how long closing waits for who writes. The plugin's end takes no longer than its host waits for it.
const parting = 2 * time.Second

// close closes the store when nobody writes to it any more: handlers of the library outlive their client, and cannot be
// waited for. They fail from then on, which acknowledges nothing, for their connection has ended. It changes no file later.
func (d *devices) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), parting)
	defer cancel()
	last, err := d.db.Conn(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("wait for the device store: %w", err), d.db.Close())
	}
	// It is the only connection, and nobody gets it after the store is closed. The files are closed with it.
	return errors.Join(d.db.Close(), last.Close())
}

// device returns the paired device, or a new one that is to be paired.
func (d *devices) device(ctx context.Context) (*store.Device, error) {
	device, err := d.GetFirstDevice(ctx)
	if err != nil {
		return nil, fmt.Errorf("read device store: %w", err)
	}
	turn := make(turn, 1)
	device.EventBuffer = &once{device.EventBuffer, turn}
	device.Sessions = &ratchets{SessionStore: device.Sessions, turn: turn}
	return device, nil
}
