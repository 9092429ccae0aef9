// Package retention deletes what the operator no longer wants to keep: exports, and what Claude Code keeps of conversations that have
// ended. The store deletes its own rows, and package files the files of messages.
package retention

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/claude/transcript"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// Ended knows which conversations of Claude have ended.
type Ended interface {
	Ended(ctx context.Context, by time.Time, after string) ([]string, error)
}

// Ages are how long the store keeps its rows.
func Ages(r config.Retention) store.Ages {
	ages := store.Ages{Transcripts: r.Transcripts, Media: r.Media}
	if r.Media == 0 {
		ages.Media = -1
	}
	return ages
}

// Enforce deletes what is older than the config says. It is to be called before the store deletes its rows, by which Claude's
// transcripts are found.
func Enforce(ctx context.Context, c *config.Config, ended Ended, now time.Time) error {
	var errs []error
	if age := c.Retention.Exports; age > 0 {
		errs = append(errs, exports(ctx, filepath.Join(c.StateDir, "exports"), now.Add(-age)))
	}
	if age := c.Retention.Transcripts; age > 0 {
		errs = append(errs, transcripts(ctx, c, ended, now.Add(-age)))
	}
	return errors.Join(errs...)
}

// maxExports bounds the exports that are looked at. Others of these follow in the next hour.
const maxExports = 100_000

func exports(ctx context.Context, dir string, by time.Time) error {
	folder, err := workspace.New(dir).Open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete old exports: %w", err)
	}
	defer folder.Close()
	names, _, err := folder.Names(".", maxExports)
	if err != nil {
		return fmt.Errorf("delete old exports: %w", err)
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		info, err := folder.Lstat(name)
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(name, ".jsonl") || info.ModTime().After(by) {
			continue
		}
		if err := folder.Do(func(root *os.Root) error { return root.Remove(name) }); err != nil {
			return fmt.Errorf("delete old exports: %w", err)
		}
	}
	return nil
}

func transcripts(ctx context.Context, c *config.Config, ended Ended, by time.Time) error {
	folders := map[string]bool{}
	for _, a := range c.AllAgents() {
		if a.Claude.ConfigDir != "" {
			folders[a.Claude.ConfigDir] = true
		}
	}
	for after := ""; ; {
		ids, err := ended.Ended(ctx, by, after)
		if err != nil || len(ids) == 0 {
			return err
		}
		after = ids[len(ids)-1]
		sessions := map[string]bool{}
		for _, id := range ids {
			sessions[id] = true
		}
		for dir := range folders {
			if _, err := transcript.Discard(ctx, dir, sessions); err != nil {
				return err
			}
		}
	}
}
