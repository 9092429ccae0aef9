package fleet

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/core/internal/store/engine"
	"github.com/clawhost/clawhost/core/internal/store/postgres"
)

// openEvery is how often a server that is away is tried again, and sayEvery how often the log says so.
const (
	openEvery = time.Second
	sayEvery  = time.Minute
)

// Transient reports whether a host that ends with an error should start again: its database is away, or it has lost its lease.
func Transient(err error) bool { return errors.Is(err, engine.ErrLapsed) || postgres.Away(err) }

// Open opens the database that the config names, as the host that it names, and joins the fleet of that. While the server cannot be reached, it
// waits. It fails at once for a server that refuses the host, and as [store.Open] and [Fleet.Join] do.
func Open(ctx context.Context, current *config.Current, version string, m *metrics.Metrics, log hclog.Logger) (*store.Store, *Fleet, error) {
	c := current.Get()
	if c.Database.Driver != config.Postgres {
		s, err := store.Open(ctx, filepath.Join(c.StateDir, store.File), store.Options{Metrics: m})
		return s, New(Options{Store: s}, log), err
	}
	options := store.Options{Metrics: m, Log: log, Host: c.Host.Name, Dir: c.StateDir}
	s, err := store.OpenServer(ctx, c.Database.DSN, options)
	for said := (time.Time{}); postgres.Away(err); s, err = store.OpenServer(ctx, c.Database.DSN, options) {
		if time.Since(said) >= sayEvery {
			log.Warn("the database cannot be reached; waiting for it", "error", err)
			said = time.Now()
		}
		if err := sleep(ctx, openEvery); err != nil {
			return nil, nil, err
		}
	}
	if err != nil {
		return nil, nil, err
	}
	f := New(Options{Store: s, Name: c.Host.Name, Config: current, Registration: Registration{
		Version: version, Labels: c.Host.Labels, Agents: c.Runs(), Lease: c.Database.Lease,
	}}, log)
	if err := f.Join(ctx); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, f, nil
}
