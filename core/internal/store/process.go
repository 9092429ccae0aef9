package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Process is a child process of the host, kept so that the next life can end it.
type Process struct {
	Kind      string // "plugin" or "claude"
	Name      string // the plugin's instance or the claude session
	PID       int
	StartTime uint64 // /proc/PID/stat's starttime in ticks: a pid that was reused has another one
	BootID    string
}

// RecordProcess keeps a child process until it is forgotten.
func (s *Store) RecordProcess(ctx context.Context, p Process) error {
	_, err := step(ctx, s, "record process", func(t *tx) (nothing, error) {
		_, err := t.exec(`INSERT INTO processes (pid, start_time, kind, name, boot_id) VALUES (?1, ?2, ?3, ?4, ?5)
			ON CONFLICT (pid, start_time) DO UPDATE SET kind = excluded.kind, name = excluded.name, boot_id = excluded.boot_id`,
			p.PID, int64(p.StartTime), p.Kind, p.Name, p.BootID)
		return nothing{}, err
	})
	return err
}

// ForgetProcess forgets a process that has ended; one that is not recorded is no error.
func (s *Store) ForgetProcess(ctx context.Context, pid int, startTime uint64) error {
	_, err := step(ctx, s, "forget process", func(t *tx) (nothing, error) {
		_, err := t.exec(`DELETE FROM processes WHERE pid = ?1 AND start_time = ?2`, pid, int64(startTime))
		return nothing{}, err
	})
	return err
}

// Processes returns the recorded processes, by pid.
func (s *Store) Processes(ctx context.Context) ([]Process, error) {
	var processes []Process
	err := s.view(ctx).each(`SELECT pid, start_time, kind, name, boot_id FROM processes ORDER BY pid, start_time`, nil,
		func(rows *sql.Rows) error {
			var p Process
			var startTime int64
			if err := rows.Scan(&p.PID, &startTime, &p.Kind, &p.Name, &p.BootID); err != nil {
				return err
			}
			p.StartTime = uint64(startTime)
			processes = append(processes, p)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("processes: %w", err)
	}
	return processes, nil
}
