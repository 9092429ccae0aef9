package store

import (
	"context"
	"database/sql"
	"fmt"
	"os"

	"github.com/clawhost/clawhost/core/internal/process"
)

// Process is a child process of the host, kept so that the next life can end it.
type Process struct {
	Kind      string // "plugin" or "claude"
	Name      string // the plugin's instance or the claude session
	PID       int
	StartTime uint64 // /proc/PID/stat's starttime in ticks: a pid that was reused has another one
	BootID    string
	Mark      string // what the environment of it and of all that it starts carries; empty: not known
	Host      Host   // the store fills it in
}

// Host is the process that recorded another one. The zero Host is not known.
type Host struct {
	PID       int
	StartTime uint64
}

// self returns this process.
func self() (Host, error) {
	pid := os.Getpid()
	started, err := process.StartTime(pid)
	return Host{PID: pid, StartTime: started}, err
}

// RecordProcess keeps a child of this process until it is forgotten.
func (s *Store) RecordProcess(ctx context.Context, p Process) error {
	_, err := step(ctx, s, "record process", func(t *tx) (nothing, error) {
		_, err := t.exec(`INSERT INTO processes (pid, start_time, kind, name, boot_id, mark, host_pid, host_start) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
			ON CONFLICT (pid, start_time) DO UPDATE SET kind = excluded.kind, name = excluded.name, boot_id = excluded.boot_id,
				mark = excluded.mark, host_pid = excluded.host_pid, host_start = excluded.host_start`,
			p.PID, int64(p.StartTime), p.Kind, p.Name, p.BootID, p.Mark, s.host.PID, int64(s.host.StartTime))
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
	err := s.view(ctx).each(`SELECT pid, start_time, kind, name, boot_id, mark, host_pid, host_start FROM processes ORDER BY pid, start_time`, nil,
		func(rows *sql.Rows) error {
			var p Process
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
