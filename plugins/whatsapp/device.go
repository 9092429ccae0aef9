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

const (
	deviceFile    = "device.db" // in the state folder
	scratchFolder = "files"     // of temporary files, there too
)

// devices stores the linked device's keys and sessions. Anybody with the file is the device.
type devices struct {
	*sqlstore.Container
	db *sql.DB
}

// openDevices opens or creates the store in a folder. Only one process may use it.
func openDevices(ctx context.Context, folder string, log waLog.Logger) (*devices, error) {
	path := filepath.Join(folder, deviceFile)
	// SQLite gives its other files the mode of the first.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open device store: %w", err)
	}
	if err := errors.Join(file.Chmod(0o600), file.Close()); err != nil {
		return nil, fmt.Errorf("open device store: %w", err)
	}
	// A single connection has the file for itself: statements need no coordination with other connections, and no second
	// process can lose sessions. A goroutine that waits for the connection holds no lock that its user may need.
	//
	// A commit survives the end of the process but not a power cut, which may undo some steps of the sessions:
	// unacknowledged messages are then decrypted again, and phones request what they cannot decrypt. The messages
	// themselves are stored by the host.
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

// parting limits how long closing waits for writers. The host waits no longer for the plugin to end.
const parting = 2 * time.Second

// close closes the store when there are no more writes to it: the library's handlers outlive their client, and cannot be
// waited for. After that they fail, which acknowledges nothing, because their connection has ended. No file changes later.
func (d *devices) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), parting)
	defer cancel()
	last, err := d.db.Conn(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("wait for the device store: %w", err), d.db.Close())
	}
	// It is the only connection, and cannot be acquired after the store is closed. The files are closed with it.
	return errors.Join(d.db.Close(), last.Close())
}

// device returns the paired device, or a new one to be paired.
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
