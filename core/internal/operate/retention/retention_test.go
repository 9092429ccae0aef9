package retention_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/operate/retention"
)

const day = 24 * time.Hour

// ended are conversations by when they ended, in the order of their ids, one a page.
type ended []struct {
	id string
	at time.Time
}

func (e ended) Ended(_ context.Context, by time.Time, after string) ([]string, error) {
	for _, c := range e {
		if c.id > after && !c.at.After(by) {
			return []string{c.id}, nil
		}
	}
	return nil, nil
}

// Behaviour: retention.
func TestEnforce(t *testing.T) {
	t.Parallel()
	const first, second, third = "11111111-6f1e-4a53-8f0e-0a4a4b0c7b11", "22222222-6f1e-4a53-8f0e-0a4a4b0c7b11", "33333333-6f1e-4a53-8f0e-0a4a4b0c7b11"
	now := time.Now()
	known := ended{{first, now.Add(-9 * day)}, {second, now.Add(-8 * day)}, {third, now.Add(-6 * day)}}
	for _, tc := range []struct {
		name string
		keep config.Retention
		left string
	}{
		{"by default", config.Retention{Media: 30 * day}, "exports/new.jsonl exports/old.jsonl exports/old.txt " + first + " " + second + " " + third},
		{"exports", config.Retention{Exports: 7 * day}, "exports/new.jsonl exports/old.txt " + first + " " + second + " " + third},
		{"transcripts", config.Retention{Transcripts: 7 * day}, "exports/new.jsonl exports/old.jsonl exports/old.txt " + third},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := &config.Config{StateDir: t.TempDir(), Retention: tc.keep}
			c.Agent.Claude.ConfigDir = t.TempDir()
			projects := filepath.Join(c.Agent.Claude.ConfigDir, "projects", "-work")
			for path, age := range map[string]time.Duration{
				filepath.Join(c.StateDir, "exports", "new.jsonl"): 6 * day, filepath.Join(c.StateDir, "exports", "old.jsonl"): 8 * day,
				filepath.Join(c.StateDir, "exports", "old.txt"): 8 * day, // the operator's
				filepath.Join(projects, first+".jsonl"):         0, filepath.Join(projects, second+".jsonl"): 0, filepath.Join(projects, third+".jsonl"): 0,
			} {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
					t.Fatal(err)
				}
			}
			if err := retention.Enforce(t.Context(), c, known, now); err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, pattern := range []string{filepath.Join(c.StateDir, "exports", "*"), filepath.Join(projects, "*")} {
				found, _ := filepath.Glob(pattern)
				for _, path := range found {
					path = strings.TrimPrefix(path, c.StateDir+"/")
					left = append(left, strings.TrimSuffix(strings.TrimPrefix(path, projects+"/"), "/"))
				}
			}
			if got := strings.ReplaceAll(strings.Join(left, " "), "11.jsonl", "11"); got != tc.left {
				t.Errorf("left\n%s, want\n%s", got, tc.left)
			}
		})
	}
}
