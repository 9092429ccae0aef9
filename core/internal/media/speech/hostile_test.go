package speech_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/core/internal/media/speech"
	"github.com/clawhost/clawhost/sdk/chat"
)

// What a sender calls a voice message reaches no program: neither as a name, nor as an option or a command.
// Behaviour: media-programs.
func TestNamesOfVoices(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"-i", "--help.ogg", "-y -i /etc/passwd.ogg", ";touch made.ogg", "$(touch made).ogg", "`touch made`.ogg", "a\ntouch made\n.ogg", "| touch made", "{file}",
		"../../voice.ogg", "/etc/passwd", "concat:a|b.ogg", "http://127.0.0.1/a.ogg", "%s%n.ogg", strings.Repeat("x", 5000) + ".ogg",
	} {
		r := setupReading(t)
		m := r.Stored(t, chat.Media{Kind: chat.Voice, FileName: name}, append(bytes.Clone(opus[:36]), "where"...))
		got := r.heard(t, m)
		lines := strings.Split(got.Text, "\n")
		if len(lines) < 2 || filepath.Dir(lines[0]) != r.dir || lines[1] != "voice.ogg" {
			t.Errorf("%q: the program sees %+v", name, got)
		}
		if _, err := os.Stat("made"); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("%q was run: %v", name, err)
		}
	}
}

// A program is looked for in the absolute folders of PATH, and not where the host, or its agent, happens to work.
// Behaviour: media-programs, transcribe-found.
func TestProgramsOfTheWorkspace(t *testing.T) {
	work, home := t.TempDir(), t.TempDir()
	made := filepath.Join(work, "made")
	evil := "#!/bin/sh\necho evil >" + made + "\necho evil\n"
	mediatest.Install(t, work, 0o700, map[string]string{"whisper-cli": evil, "whisper": evil, "ffmpeg": evil, "bin/whisper-cli": evil, "bin/ffmpeg": evil})
	mediatest.Install(t, home, 0o600, map[string]string{".cache/whisper.cpp/ggml-base.bin": "m", ".cache/whisper/base.pt": "m"})
	t.Chdir(work)
	for _, path := range []string{"", ".", ":", "./bin", "bin:", "./"} {
		t.Setenv("PATH", path)
		if found := speech.FindMethod(home, ""); !found.Missing() {
			t.Errorf("PATH %q: %s", path, found)
		}
		r := setupReading(t)
		r.method = speech.NewMethod([]string{"whisper-cli", "{file}"})
		if got := r.heard(t, r.voice(t, "hello")); got.Text != "" || got.Failure == "" {
			t.Errorf("PATH %q: %+v", path, got)
		}
		if _, err := os.Stat(made); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("PATH %q: a program of the workspace ran: %v", path, err)
		}
	}
}
