package reload

import (
	"context"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/clawhost/clawhost/core/internal/base/config"
)

// quiet is how long the file must stay as it is before it is read: editors write it in several steps.
const quiet = 300 * time.Millisecond

// Watch reloads the config when its file, or the file of its variables, has changed, as long as the config wants that, until ctx ends.
// The log says why a file cannot be applied.
func (r *Reloader) Watch(ctx context.Context) {
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
