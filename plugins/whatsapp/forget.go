package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Forget implements [sdk.Forgetter]: it deletes what the device store has under the person's number or hidden address, such as names,
// keys, and sent messages that a phone may request again. The person can still write: phones agree on new keys.
func (config) Forget(ctx context.Context, p sdk.Person) (left []string, err error) {
	if err := os.RemoveAll(filepath.Join(p.StateDir, scratchFolder)); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(p.StateDir, deviceFile)); errors.Is(err, fs.ErrNotExist) || len(p.Own()) == 0 {
		return nil, nil
	}
	devices, err := openDevices(ctx, p.StateDir, libraryLog{slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, devices.close()) }()
	return devices.forget(ctx, p.Own(), p.Names)
}

// forget deletes the rows of people. The library has no methods for most of them.
func (d *devices) forget(ctx context.Context, people []chat.UserID, names []string) (left []string, err error) {
	var users []string // numbers, and the user parts of hidden addresses
	for _, id := range people {
		if jid, err := parseChat(chat.ID(id)); err == nil && !slices.Contains(users, jid.User) {
			users = append(users, jid.User)
		}
	}
	for _, user := range slices.Clone(users) {
		others, err := d.texts(ctx, `SELECT lid FROM whatsmeow_lid_map WHERE pn = ?1 UNION SELECT pn FROM whatsmeow_lid_map WHERE lid = ?1`, user)
		if err != nil {
			return nil, err
		}
		users = append(users, others...)
	}
	columns, err := d.texts(ctx, `SELECT m.name || ' ' || c.name FROM sqlite_schema m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name LIKE 'whatsmeow!_%' ESCAPE '!' AND m.name <> 'whatsmeow_device'
		AND c.type = 'TEXT' AND c.name NOT IN ('jid', 'our_jid')`) // these are the account's own
	if err != nil {
		return nil, err
	}
	if _, err := d.db.ExecContext(ctx, `PRAGMA secure_delete = ON`); err != nil {
		return nil, err
	}
	for _, user := range users {
		for _, c := range columns {
			table, column, _ := strings.Cut(c, " ")
			// Behind the user are a device and a server.
			if _, err := d.db.ExecContext(ctx, `DELETE FROM `+table+` WHERE `+column+` = ?1 OR `+column+` GLOB ?1 || '[^0-9]*'`, user); err != nil {
				return nil, fmt.Errorf("delete from %s: %w", table, err)
			}
		}
		own, err := d.texts(ctx, `SELECT jid FROM whatsmeow_device WHERE jid GLOB ?1 || '[^0-9]*' OR lid GLOB ?1 || '[^0-9]*'`, user)
		if err != nil {
			return nil, err
		}
		if len(own) > 0 {
			left = append(left, "The linked account itself has their number: unlink the device on the phone, and link another account.")
		}
	}
	for _, name := range append(names, users...) { // answers in groups
		if _, err := d.db.ExecContext(ctx, `DELETE FROM whatsmeow_retry_buffer WHERE instr(plaintext, CAST(?1 AS BLOB))`, name); err != nil {
			return nil, fmt.Errorf("delete sent messages: %w", err)
		}
	}
	open, err := d.texts(ctx, `SELECT 'x' FROM whatsmeow_event_buffer WHERE plaintext IS NOT NULL`)
	if err != nil {
		return nil, err
	}
	if len(open) > 0 {
		left = append(left, fmt.Sprintf("Messages that had arrived when the host stopped, perhaps theirs: %d. "+
			"They reach the host when it starts; run this again after that.", len(open)))
	}
	for _, statement := range []string{`VACUUM`, `PRAGMA wal_checkpoint(TRUNCATE)`} {
		if _, err := d.db.ExecContext(ctx, statement); err != nil {
			return nil, fmt.Errorf("write the device store again: %w", err)
		}
	}
	return left, nil
}

// texts returns the only column of a query.
func (d *devices) texts(ctx context.Context, query string, args ...any) (list []string, err error) {
	rows, err := d.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read the device store: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text sql.NullString
		if err := rows.Scan(&text); err != nil {
			return nil, fmt.Errorf("read the device store: %w", err)
		}
		list = append(list, text.String)
	}
	return list, rows.Err()
}
