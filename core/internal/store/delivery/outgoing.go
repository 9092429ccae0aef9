package delivery

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// RecordFiles records the files that a completed run has used.
func RecordFiles(t *engine.Tx, files []domain.OutgoingFile) error {
	for _, f := range files {
		_, err := t.Exec(`INSERT INTO outgoing_files (folder, name, version, sent, agent) VALUES (?1, ?2, ?3, ?4, ?5)
			ON CONFLICT (folder, name) DO UPDATE SET version = excluded.version, sent = excluded.sent`,
			f.Folder, storedName(f.Name), f.Version, f.Sent, f.Agent)
		if err != nil {
			return err
		}
	}
	return nil
}

// OutgoingFiles returns the files of a folder of an agent that completed runs have used, by name; of all its folders for "".
func (s *Store) OutgoingFiles(ctx context.Context, agent, folder string) (files []domain.OutgoingFile, err error) {
	query, args := `SELECT agent, folder, name, version, sent FROM outgoing_files WHERE agent = ?1 AND folder = ?2`, []any{agent, folder}
	if folder == "" {
		query, args = `SELECT agent, folder, name, version, sent FROM outgoing_files WHERE agent = ?1`, []any{agent}
	}
	err = s.db.View(ctx).Each(query, args, func(rows engine.Rows) error {
		var f domain.OutgoingFile
		if err := rows.Scan(&f.Agent, &f.Folder, &f.Name, &f.Version, &f.Sent); err != nil {
			return err
		}
		f.Name = fileName(f.Name)
		files = append(files, f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("outgoing files: %w", err)
	}
	slices.SortFunc(files, func(a, b domain.OutgoingFile) int {
		return cmp.Or(strings.Compare(a.Folder, b.Folder), strings.Compare(a.Name, b.Name))
	})
	return files, nil
}

// DeleteOutgoing deletes the records of files that were deleted. Newer records stay.
func (s *Store) DeleteOutgoing(ctx context.Context, files ...domain.OutgoingFile) error {
	if len(files) == 0 {
		return nil
	}
	return engine.Change(ctx, s.db, "forget outgoing files", func(t *engine.Tx) error {
		for _, f := range files {
			if _, err := t.Exec(`DELETE FROM outgoing_files WHERE folder = ?1 AND name = ?2 AND version = ?3`, f.Folder,
				storedName(f.Name), f.Version); err != nil {
				return err
			}
		}
		return nil
	})
}

// storedName returns the name of a file as a text: "/" and its bytes in hexadecimal where it is none. No name of a file has a "/".
func storedName(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return "/" + hex.EncodeToString([]byte(name))
}

// fileName returns the name of a file that [storedName] has made a text.
func fileName(stored string) string {
	encoded, odd := strings.CutPrefix(stored, "/")
	if !odd {
		return stored
	}
	name, err := hex.DecodeString(encoded)
	if err != nil {
		return stored
	}
	return string(name)
}
