package store

import (
	"context"
	"fmt"
	"os"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

// thisProcess returns this process.
func thisProcess() (domain.Host, error) {
	pid := os.Getpid()
	started, err := process.StartTime(pid)
	return domain.Host{PID: pid, StartTime: started}, err
}

// RecordProcess records a child of this process until [Store.DeleteProcess].
func (s *Store) RecordProcess(ctx context.Context, p domain.Process) error {
	return engine.Change(ctx, s.db, "record process", func(t *engine.Tx) error {
		_, err := t.Exec(`INSERT INTO processes (pid, start_time, kind, name, boot_id, mark, host_pid, host_start, host) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
			ON CONFLICT (host, pid, start_time) DO UPDATE SET kind = excluded.kind, name = excluded.name, boot_id = excluded.boot_id,
				mark = excluded.mark, host_pid = excluded.host_pid, host_start = excluded.host_start`,
			p.PID, int64(p.StartTime), p.Kind, p.Name, p.BootID, p.Mark, s.process.PID, int64(s.process.StartTime), s.self.Name)
		return err
	})
}

// DeleteProcess deletes the record of an ended process; a missing one is not an error.
func (s *Store) DeleteProcess(ctx context.Context, pid int, startTime uint64) error {
	return engine.Change(ctx, s.db, "forget process", func(t *engine.Tx) error {
		_, err := t.Exec(`DELETE FROM processes WHERE host = ?3 AND pid = ?1 AND start_time = ?2`, pid, int64(startTime), s.self.Name)
		return err
	})
}

// Processes returns the recorded processes of this host, by pid.
func (s *Store) Processes(ctx context.Context) ([]domain.Process, error) {
	var processes []domain.Process
	err := s.db.View(ctx).Each(`SELECT pid, start_time, kind, name, boot_id, mark, host_pid, host_start FROM processes WHERE host = ?1 ORDER BY pid, start_time`, []any{s.self.Name},
		func(rows engine.Rows) error {
			var p domain.Process
			var startTime, hostStart int64
			if err := rows.Scan(&p.PID, &startTime, &p.Kind, &p.Name, &p.BootID, &p.Mark, &p.Host.PID, &hostStart); err != nil {
				return err
			}
			p.StartTime, p.Host.StartTime = uint64(startTime), uint64(hostStart)
			processes = append(processes, p)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("processes: %w", err)
	}
	return processes, nil
}
