package speech_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/core/internal/media/program"
	"github.com/clawhost/clawhost/core/internal/media/speech"
	"github.com/clawhost/clawhost/sdk/chat"
)

// reading is how the voice messages of a test are transcribed.
type reading struct {
	*mediatest.Bundle
	method  speech.Method
	timeout time.Duration
	dir     string // of the programs' working folders
	record  string // where the script writes down that it ran
}

func setupReading(t *testing.T) *reading {
	t.Helper()
	record := filepath.Join(t.TempDir(), "record")
	method := speech.NewMethod([]string{"sh", mediatest.Script(t, "transcribe.sh"), record, "{file}"})
	return &reading{mediatest.Setup(t), method, mediatest.Patience, t.TempDir(), record}
}

// voice stores a voice message with these words.
func (r *reading) voice(t *testing.T, words string) chat.Media {
	t.Helper()
	return r.Stored(t, chat.Media{Kind: chat.Voice}, append(bytes.Clone(opus[:36]), words...))
}

// heard returns what a voice message says.
func (r *reading) heard(t *testing.T, m chat.Media) domain.Extract {
	t.Helper()
	said, _ := speech.NewTranscriber(r.method, r.Store, program.Runner{Dir: r.dir}, r.timeout).Transcribe(t.Context(), "telegram", m)
	return said
}

// What a program has left behind, holding its output, ends with it.
// Behaviour: media-programs.
func TestNothingLingers(t *testing.T) {
	t.Parallel()
	r := setupReading(t)
	if got := r.heard(t, r.voice(t, "linger")); got.Text != "said and gone" {
		t.Errorf("heard %+v", got)
	}
	mediatest.Gone(t, mediatest.PID(t, r.record+".lingering"))
}

// A program that takes too long is ended with all that it has started, whatever signals they ignore.
// Behaviour: transcribe.
func TestAProgramThatHangs(t *testing.T) {
	t.Parallel()
	r := setupReading(t)
	r.timeout = 300 * time.Millisecond
	if got := r.heard(t, r.voice(t, "hang")); got.Failure != "could not be transcribed" {
		t.Errorf("heard %+v", got)
	}
	mediatest.Gone(t, mediatest.PID(t, r.record+".child"))
	mediatest.Empty(t, r.dir)
}

// A program knows no more than it must, and says no more than is wanted.
// Behaviour: media-programs.
func TestWhatAProgramSees(t *testing.T) {
	t.Parallel()
	r := setupReading(t)
	got := r.heard(t, r.voice(t, "where"))
	lines := strings.Split(got.Text, "\n")
	if len(lines) != 3 || filepath.Dir(lines[0]) != r.dir || lines[1] != "voice.ogg" {
		t.Fatalf("it sees %q", got.Text)
	}
	for _, name := range strings.Fields(lines[2]) {
		switch {
		case name == "HOME", name == "PATH", name == "USER", name == "LANG", name == "TZ", name == "TMPDIR", strings.HasPrefix(name, "LC_"):
		default:
			t.Errorf("it knows the variable %s", name)
		}
	}
	r.timeout = time.Second
	if got := r.heard(t, r.voice(t, "flood")); got.Text != "" || got.Failure == "" {
		t.Errorf("a program without an end says %d bytes, problem %q", len(got.Text), got.Failure)
	}
}
