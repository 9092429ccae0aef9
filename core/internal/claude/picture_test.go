package claude_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/recordings"
)

// The stub shows the model of pictures what the real CLI does, and the conversation goes on. The end-to-end tests have the
// same table.
// Behaviour: file-inline.
func TestPicturesThatTheModelIsNotShown(t *testing.T) {
	t.Parallel()
	for _, p := range recordings.Pictures(t) {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			pool := r.pool()
			r.ask(pool, r.turn("my number is 4711"))
			path := filepath.Join(t.TempDir(), "picture")
			if err := os.WriteFile(path, p.Data, 0o600); err != nil {
				t.Fatal(err)
			}
			turn := r.turn(directive(map[string]any{"say": "$PICTURES"}))
			turn.Pictures = []agent.Picture{{Path: path, Type: p.Type}}
			if got := r.ask(pool, turn).Text; !strings.HasPrefix(got, p.Shown) {
				t.Errorf("the model is shown %.200q, want %q", got, p.Shown)
			}
			if got := r.ask(pool, r.turn(directive(map[string]any{"say": "$HISTORY"}))).Text; !strings.Contains(got, "my number is 4711") {
				t.Errorf("the conversation is %q", got)
			}
			r.wantSpawned(pool, 1)
		})
	}
}

// If the API refuses one picture, the model is shown none of that request.
func TestOneOfSeveralPicturesIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.pool()
	turn := r.turn(directive(map[string]any{"say": "$PICTURES"}))
	for _, p := range recordings.Pictures(t) {
		if p.Name == "a small PNG" || p.Name == "a WebP of 50 bytes" {
			path := filepath.Join(t.TempDir(), "picture")
			if err := os.WriteFile(path, p.Data, 0o600); err != nil {
				t.Fatal(err)
			}
			turn.Pictures = append(turn.Pictures, agent.Picture{Path: path, Type: p.Type})
		}
	}
	if got := r.ask(pool, turn).Text; strings.Count(got, "[Image removed") != 2 {
		t.Errorf("the model is shown %q", got)
	}
}
