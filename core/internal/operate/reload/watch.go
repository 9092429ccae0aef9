package reload

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/clawhost/clawhost/core/internal/base/config"
)

// quiet is how long the file must stay as it is before it is read: editors write it in several steps.
const quiet = 300 * time.Millisecond

// Watch reloads the config until ctx ends: when its file, or the file of its variables, has changed, as long as the config wants that, and
// when another host has set or unset a value. The log says why a config cannot be applied.
func (r *Reloader) Watch(ctx context.Context) {
	var others sync.WaitGroup
	others.Go(func() { r.watchOthers(ctx) })
	defer others.Wait()
	for ctx.Err() == nil {
		changed := r.current.Changed()
		if c := r.current.Get(); c.Reload == config.Watch {
			r.watch(ctx, c.Path)
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// watchOthers reloads the config when other hosts have set or unset values. What cannot be applied is not tried again.
func (r *Reloader) watchOthers(ctx context.Context) {
	changed, unwatch := r.options.Store.WatchConfigOverrides()
	defer unwatch()
	for seen := r.current.Get().Overrides(); ctx.Err() == nil; {
		switch now, err := r.overrides(ctx); {
		case err != nil && ctx.Err() == nil:
			r.log.Warn("cannot look which values other hosts have set", "error", err)
		case err == nil && !config.SameValues(now, seen):
			if seen = now; !config.SameValues(now, r.current.Get().Overrides()) {
				_, _ = r.Reload(ctx, "another host") // the log has it
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// overrides returns the overrides that are set. What this host is setting is applied by then.
func (r *Reloader) overrides(ctx context.Context) ([]config.Override, error) {
	if err := r.wait(ctx); err != nil {
		return nil, err
	}
	defer func() { <-r.turn }()
	return r.options.Store.ConfigOverrides(ctx)
}

// watch reloads the file until the config does not want that any more.
func (r *Reloader) watch(ctx context.Context, path string) {
	files, err := fsnotify.NewWatcher()
	if err == nil {
		defer files.Close()
		err = files.Add(filepath.Dir(path)) // the folder: editors replace the file
	}
	if err != nil {
		r.log.Error("the config file cannot be watched; reload it by `clawhost reload`", "error", err)
		<-ctx.Done()
		return
	}
	names := map[string]bool{filepath.Clean(path): true, config.VariablesPath(path): true}
	timer := time.NewTimer(0) // it may have changed before it was watched
	defer timer.Stop()
	for {
		replaced := r.current.Changed()
		if r.current.Get().Reload != config.Watch {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-replaced:
		case event, open := <-files.Events:
			if !open {
				return
			}
			if names[event.Name] && event.Op != fsnotify.Chmod {
				timer.Reset(quiet)
			}
		case err := <-files.Errors:
			r.log.Warn("watching the config file", "error", err)
			timer.Reset(quiet) // events may be missing
		case <-timer.C:
			_, _ = r.Reload(ctx, "the watch on the file") // the log has it
		}
	}
}
