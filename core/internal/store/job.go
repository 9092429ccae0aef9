package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/store/engine"
)

const jobColumns = `id, session, caller, title, command, folder, pattern, COALESCE(deadline, 0), matched, late, pid, start_time, boot_id, state, code,
	started_at, COALESCE(ended_at, 0), output, tail, stopped_by`

func scanJob(scan func(dest ...any) error) (j domain.Job, err error) {
	var caller string
	var deadline, startTime, startedAt, endedAt int64
	if err := scan(&j.ID, &j.Session, &caller, &j.Title, &j.Command, &j.Folder, &j.Pattern, &deadline, &j.Told.Matched, &j.Told.Late, &j.PID, &startTime, &j.BootID,
		&j.State, &j.Code, &startedAt, &endedAt, &j.Output, &j.Tail, &j.StoppedBy); err != nil {
		return j, err
	}
	j.StartTime, j.Deadline, j.StartedAt, j.EndedAt = uint64(startTime), engine.Moment(deadline), engine.Moment(startedAt), engine.Moment(endedAt)
	if err := json.Unmarshal([]byte(caller), &j.Caller); err != nil {
		return j, fmt.Errorf("read whose job %d is: %w", j.ID, err)
	}
	return j, nil
}

// AddJob adds a job of this host that is about to begin, and returns its id. The error is [domain.ErrJobsFull] if so many run here already, and
// [domain.ErrPersonJobsFull] if so many of its person's do; zero: that is no limit.
func (s *Store) AddJob(ctx context.Context, j domain.Job, most, person int) (id int64, err error) {
	caller, err := json.Marshal(j.Caller)
	if err != nil {
		return 0, err
	}
	return engine.Do(ctx, s.db, "add job", func(t *engine.Tx) (id int64, err error) {
		var all, theirs int
		if err := t.Row(`SELECT COUNT(*), COUNT(CASE WHEN channel = ?1 AND user_id = ?2 THEN 1 END) FROM jobs WHERE state = 'running' AND host = ?3`,
			[]any{j.Caller.Address.Channel, j.Caller.Sender.ID, s.self.Name}, &all, &theirs); err != nil {
			return 0, err
		}
		switch {
		case all >= most:
			return 0, domain.ErrJobsFull
		case person > 0 && theirs >= person:
			return 0, domain.ErrPersonJobsFull
		}
		deadline := sql.NullInt64{Int64: engine.Millis(j.Deadline), Valid: !j.Deadline.IsZero()}
		err = t.Row(`INSERT INTO jobs (session, caller, channel, user_id, title, command, folder, pattern, deadline, state, started_at, host)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'running', ?10, ?11) RETURNING id`,
			[]any{
				j.Session, string(caller), j.Caller.Address.Channel, j.Caller.Sender.ID, j.Title, j.Command, j.Folder, j.Pattern,
				deadline, engine.Millis(j.StartedAt), s.self.Name,
			}, &id)
		return id, err
	})
}

// BeginJob records the process of a job. The error is [domain.ErrNotFound] if it is not to begin any more: it was stopped or forgotten.
func (s *Store) BeginJob(ctx context.Context, id int64, pid int, startTime uint64, bootID string) error {
	return engine.Change(ctx, s.db, "begin job", func(t *engine.Tx) error {
		n, err := t.Exec(`UPDATE jobs SET pid = ?2, start_time = ?3, boot_id = ?4 WHERE id = ?1 AND state = 'running' AND stopped_by = ''`,
			id, pid, int64(startTime), bootID)
		if err == nil && n == 0 {
			err = domain.ErrNotFound
		}
		return err
	})
}

// ToldJob records what has been told of a job.
func (s *Store) ToldJob(ctx context.Context, id int64, told domain.JobNews) error {
	return engine.Change(ctx, s.db, "told of job", func(t *engine.Tx) error {
		_, err := t.Exec(`UPDATE jobs SET matched = ?2, late = ?3 WHERE id = ?1`, id, told.Matched, told.Late)
		return err
	})
}

// StopJob records who is about to stop a job. One that has ended, or is being stopped, stays as it is.
func (s *Store) StopJob(ctx context.Context, id int64, by string) error {
	return engine.Change(ctx, s.db, "stop job", func(t *engine.Tx) error {
		_, err := t.Exec(`UPDATE jobs SET stopped_by = ?2 WHERE id = ?1 AND state = 'running' AND stopped_by = ''`, id, by)
		return err
	})
}

// EndJob records how a job has ended. One that has ended stays as it is.
func (s *Store) EndJob(ctx context.Context, j domain.Job) error {
	return engine.Change(ctx, s.db, "end job", func(t *engine.Tx) error {
		_, err := t.Exec(`UPDATE jobs SET state = ?2, code = ?3, ended_at = ?4, output = ?5, tail = ?6, stopped_by = ?7 WHERE id = ?1 AND state = 'running'`,
			j.ID, j.State, j.Code, engine.Millis(j.EndedAt), j.Output, j.Tail, j.StoppedBy)
		return err
	})
}

// Job returns a job, or [domain.ErrNotFound].
func (s *Store) Job(ctx context.Context, id int64) (domain.Job, error) {
	j, err := scanJob(func(dest ...any) error {
		return s.db.View(ctx).Row(`SELECT `+jobColumns+` FROM jobs WHERE id = ?1`, []any{id}, dest...)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return j, domain.ErrNotFound
	}
	if err != nil {
		return j, fmt.Errorf("job: %w", err)
	}
	return j, nil
}

// RunningJobs returns the jobs of this host that run, or did when it ended, the oldest first.
func (s *Store) RunningJobs(ctx context.Context) ([]domain.Job, error) {
	return s.jobs(ctx, `WHERE state = 'running' AND host = ?1 ORDER BY id`, s.self.Name)
}

// SessionJobs returns the newest jobs of a session, the newest first.
func (s *Store) SessionJobs(ctx context.Context, session string, limit int) ([]domain.Job, error) {
	return s.jobs(ctx, `WHERE session = ?1 ORDER BY id DESC LIMIT ?2`, session, limit)
}

// Jobs returns the newest jobs of all sessions, the newest first.
func (s *Store) Jobs(ctx context.Context, limit int) ([]domain.Job, error) {
	return s.jobs(ctx, `ORDER BY id DESC LIMIT ?1`, limit)
}

func (s *Store) jobs(ctx context.Context, which string, args ...any) (list []domain.Job, err error) {
	err = s.db.View(ctx).Each(`SELECT `+jobColumns+` FROM jobs `+which, args, func(rows engine.Rows) error {
		j, err := scanJob(rows.Scan)
		list = append(list, j)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return list, nil
}
