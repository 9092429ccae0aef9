package delivery

import (
	"context"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// RecordFiles records the files that a completed run has used.
func RecordFiles(t *engine.Tx, files []domain.OutgoingFile) error {
	for _, f := range files {
		_, err := t.Exec(`INSERT INTO outgoing_files (folder, name, version, sent, agent) VALUES (?1, ?2, ?3, ?4, ?5)
			ON CONFLICT (folder, name) DO UPDATE SET version = excluded.version, sent = excluded.sent`,
			f.Folder, f.Name, f.Version, f.Sent, f.Agent)
		if err != nil {
			return err
		}
	}
	return nil
}

// OutgoingFiles returns the files of a folder of an agent that completed runs have used, by name; of all its folders for "".
func (s *Store) OutgoingFiles(ctx context.Context, agent, folder string) (files []domain.OutgoingFile, err error) {
	query, args := `SELECT agent, folder, name, version, sent FROM outgoing_files WHERE agent = ?1 AND folder = ?2 ORDER BY name`, []any{agent, folder}
	if folder == "" {
		query, args = `SELECT agent, folder, name, version, sent FROM outgoing_files WHERE agent = ?1 ORDER BY folder, name`, []any{agent}
	}
	err = s.db.View(ctx).Each(query, args, func(rows engine.Rows) error {
		var f domain.OutgoingFile
		defer func() { files = append(files, f) }()
		return rows.Scan(&f.Agent, &f.Folder, &f.Name, &f.Version, &f.Sent)
	})
	if err != nil {
		return nil, fmt.Errorf("outgoing files: %w", err)
	}
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
				f.Name, f.Version); err != nil {
				return err
			}
		}
		return nil
	})
}
