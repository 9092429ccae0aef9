//go:build e2e

package e2e

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
	"github.com/clawhost/clawhost/core/internal/claude/recordings"
)

// drawing is a file with a PNG of about so many bytes, without a pattern.
func drawing(t *testing.T, side int) string {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, side, side))
	for i := range picture.Pix {
		picture.Pix[i] = uint8(rand.UintN(256))
	}
	for x := range side {
		picture.Set(x, 0, color.Black)
	}
	var data bytes.Buffer
	if err := png.Encode(&data, picture); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "drawing.png")
	if err := os.WriteFile(path, data.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Claude sees a picture with the message: no tool is needed. The same message is known after a crash, and one that cannot be
// read changes nothing.
func TestPicturesAreShown(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()
	small, large := drawing(t, 20), drawing(t, 600)
	r.run(pool, r.turn("hello"))
	turn := r.turn("what is this?")
	turn.Pictures = []agent.Picture{{Path: small, Type: "image/png"}, {Path: large, Type: "image/png"}, {Path: small + ".gone", Type: "image/png"}}
	began := time.Now()
	first := r.run(pool, turn)
	t.Logf("shown with the message: %d tools, %s", len(first.Tools), time.Since(began).Round(time.Millisecond))
	requests := r.api.Messages()
	if shown := requests[len(requests)-1].Prompt.ShownPictures(); len(shown) != 2 || !slices.Contains(shown, "image/png") {
		t.Errorf("the model is shown %v", shown)
	}
	if len(first.Tools) > 0 {
		t.Errorf("tools were used: %v", first.Tools)
	}

	// What it saves: the same picture by its path.
	if err := os.Rename(small, filepath.Join(r.config.Workspace, "small.png")); err != nil {
		t.Fatal(err)
	}
	r.api.Enqueue(messagesapi.Reply{Tools: []messagesapi.ToolUse{{Name: "Read", Input: map[string]any{"file_path": filepath.Join(r.config.Workspace, "small.png")}}}})
	began = time.Now()
	second := r.run(pool, r.turn("and by its path?"))
	t.Logf("by its path: %d tools, %s", len(second.Tools), time.Since(began).Round(time.Millisecond))

	r.close(pool)
	pool = r.pool()
	turn.Again = true
	if again := r.run(pool, turn); !again.Recovered || again.Text != first.Text {
		t.Errorf("after a restart: %q, recovered %v; before: %q", again.Text, again.Recovered, first.Text)
	}
}

// A picture that is steered into a turn is shown to Claude with its message, too.
func TestSteeredPictureIsShown(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool, box := r.pool(), new(mailbox)
	r.api.Enqueue(gated("begun", "go"), messagesapi.Reply{Text: "done"})
	line := box.put("it looks like this")
	box.lines[0].Pictures = []agent.Picture{{Path: drawing(t, 20), Type: "image/png"}}
	turn := r.turn("water the plants")
	turn.Steering = box
	a := r.begin(r.ctx, pool, turn)
	r.awaitFile("begun")
	r.poll("the line is taken", func() bool { return box.given() == 1 })
	r.open("go")
	<-a.done
	r.wantCovered(a.result, line)
	requests := r.api.Messages()
	if shown := requests[len(requests)-1].Prompt.ShownPictures(); len(shown) != 1 {
		t.Errorf("the model is shown %v", shown)
	}
}

// What the real CLI shows the model of pictures that the API does not take; the conversation goes on, also in another process.
// The stub does the same by the same table.
// Behaviour: file-inline.
func TestPicturesThatTheModelIsNotShown(t *testing.T) {
	t.Parallel()
	for _, p := range recordings.Pictures(t) {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, messagesapi.Options{}, nil)
			pool := r.pool()
			r.run(pool, r.turn("my number is 4711"))
			path := filepath.Join(t.TempDir(), "picture")
			if err := os.WriteFile(path, p.Data, 0o600); err != nil {
				t.Fatal(err)
			}
			turn := r.turn("what is this?")
			turn.Pictures = []agent.Picture{{Path: path, Type: p.Type}}
			r.run(pool, turn)
			requests := r.api.Messages()[1:]
			last := requests[len(requests)-1].Prompt
			shown := append(last.ShownPictures(), slices.DeleteFunc(last.Texts(), func(text string) bool { return !strings.HasPrefix(text, p.Shown) })...)
			if len(shown) != 1 || !strings.HasPrefix(shown[0], p.Shown) {
				t.Errorf("the model is shown %q, want %q", shown, p.Shown)
			}
			if len(requests) != p.Asked {
				t.Errorf("the model was asked %d times, want %d", len(requests), p.Asked)
			}
			for range 2 {
				if got := r.run(pool, r.turn("and now?")).Text; !strings.HasSuffix(got, "and now?") {
					t.Errorf("the next turn brings %q", got)
				}
				r.remembers("my number is 4711")
				r.close(pool)
				pool = r.pool()
			}
		})
	}
}
