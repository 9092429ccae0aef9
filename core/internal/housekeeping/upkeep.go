// Package housekeeping deletes what has expired.
package housekeeping

import (
	"context"
	"time"

	"github.com/hashicorp/go-hclog"
)

// upkeepEvery is the interval at which expired rows and files are deleted.
const upkeepEvery = time.Hour

// Store deletes expired rows.
type Store interface {
	Purge(ctx context.Context) error
}

// Questions ends questions that nobody has answered in time.
type Questions interface {
	Expire(ctx context.Context)
}

// Files deletes expired files.
type Files interface {
	Forget(ctx context.Context) error
}

// Upkeep deletes what has expired.
type Upkeep struct {
	store     Store
	questions Questions
	files     Files
	log       hclog.Logger
}

// NewUpkeep returns the upkeep. Run starts it.
func NewUpkeep(s Store, questions Questions, files Files, log hclog.Logger) *Upkeep {
	return &Upkeep{store: s, questions: questions, files: files, log: log}
}

// Run deletes expired rows and files, at once and then every hour, until ctx ends.
func (u *Upkeep) Run(ctx context.Context) {
	tick := time.NewTicker(upkeepEvery)
	defer tick.Stop()
	for {
		if err := u.store.Purge(ctx); err != nil && ctx.Err() == nil {
			u.log.Error("cannot delete expired rows", "error", err)
		}
		u.questions.Expire(ctx)
		if err := u.files.Forget(ctx); err != nil && ctx.Err() == nil {
			u.log.Error("cannot delete expired files", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
