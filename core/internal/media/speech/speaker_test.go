package speech_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/core/internal/media/program"
	"github.com/clawhost/clawhost/core/internal/media/speech"
	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Files of each sort.
var (
	opus = []byte(mediatest.Opus)
	mp3  = []byte(mediatest.MP3)
	mp4  = []byte(mediatest.MP4)
)

// Behaviour: speech.
func TestSpoken(t *testing.T) {
	t.Parallel()
	written := answer.Answer{Text: "**Yes**, see [this](https://a.example).\n\n- one\n- two"}
	plain := "Yes, see this.\n\n• one\n• two"
	marked := answer.Answer{Text: "Yes.", Aloud: true}
	other := answer.Answer{Text: "Yes.", Spoken: "Yes, *dear*."}
	for _, tc := range []struct {
		mode  string
		heard bool
		a     answer.Answer
		want  string
	}{
		{"off", true, marked, ""},
		{"", true, written, ""},
		{"inbound", false, written, ""},
		{"inbound", true, written, plain},
		{"always", false, written, plain},
		{"always", false, other, "Yes, dear."},
		{"tagged", true, written, ""},
		{"tagged", false, marked, "Yes."},
		{"tagged", false, other, "Yes, dear."},
		{"always", false, answer.Answer{Silent: true}, ""},
		{"always", false, answer.Answer{Text: strings.Repeat("é", 4000)}, strings.Repeat("é", 4000)},
		{"always", false, answer.Answer{Text: strings.Repeat("é", 4001)}, ""},
	} {
		if got := speech.Spoken(tc.mode, tc.heard, tc.a); got != tc.want {
			t.Errorf("%s, heard %t, %+v: %q, want %q", tc.mode, tc.heard, tc.a, got, tc.want)
		}
	}
	if speech.Heard(nil) || speech.Heard([]chat.Media{{Kind: chat.Audio}}) || !speech.Heard([]chat.Media{{Kind: chat.Image}, {Kind: chat.Voice}}) {
		t.Error("what counts as heard")
	}
}

// spoken is a message whose answer is spoken.
var spoken = domain.Message{Channel: "telegram", Sender: chat.Sender{ID: "1"}}

// sounding is what a chat takes that takes every sound.
var sounding = []chat.MediaLimit{{Kind: chat.Voice}, {Kind: chat.Audio}, {Kind: chat.File}}

// Behaviour: speech-kind.
func TestSpeechIsWhatTheChatTakes(t *testing.T) {
	t.Parallel()
	sound := filepath.Join(t.TempDir(), "sound")
	if err := os.WriteFile(sound, opus, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		limits []chat.MediaLimit
		want   chat.MediaKind // zero: nothing is sent
		runs   bool           // the command
	}{
		"voices":           {[]chat.MediaLimit{{Kind: chat.File}, {Kind: chat.Voice}}, chat.Voice, true},
		"sound":            {[]chat.MediaLimit{{Kind: chat.Audio}}, chat.Audio, true},
		"files":            {[]chat.MediaLimit{{Kind: chat.Image}, {Kind: chat.File}}, chat.File, true},
		"pictures":         {[]chat.MediaLimit{{Kind: chat.Image}}, 0, false},
		"nothing":          {nil, 0, false},
		"nothing so large": {[]chat.MediaLimit{{Kind: chat.Voice, MaxBytes: int64(len(opus) - 1)}}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, ran := mediatest.Setup(t), filepath.Join(t.TempDir(), "ran")
			speaker := speech.NewSpeaker(b.Store, program.Runner{Dir: t.TempDir()}, []string{"sh", "-c", `touch "$2"; cat "$1" > "$0"`, "{out}", sound, ran}, mediatest.Patience)
			got, err := speaker.Speak(t.Context(), spoken, "x", tc.limits)
			if got.Kind != tc.want || errors.Is(err, speech.ErrNoSound) != (tc.want == 0) || len(b.Kept(t)) > 0 != (tc.want != 0) {
				t.Errorf("%v, %v, kept are %q", got.Kind, err, b.Kept(t))
			}
			if _, err := os.Stat(ran); err == nil != tc.runs {
				t.Errorf("the command ran: %v", err == nil)
			}
		})
	}
}

// Behaviour: speech.
func TestSpeak(t *testing.T) {
	t.Parallel()
	sounds := t.TempDir()
	for name, content := range map[string][]byte{"opus": opus, "mp3": mp3, "mp4": mp4} {
		if err := os.WriteFile(filepath.Join(sounds, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for text, tc := range map[string]struct {
		sound  string
		want   chat.Media
		broken string
	}{
		"opus a":  {sound: "opus", want: chat.Media{Kind: chat.Voice, MIMEType: "audio/ogg; codecs=opus", FileName: "speech.ogg", Size: int64(len(opus))}},
		"opus b":  {sound: "mp3", want: chat.Media{Kind: chat.Audio, MIMEType: "audio/mpeg", FileName: "speech.mp3", Size: int64(len(mp3))}},
		"opus c":  {sound: "mp4", want: chat.Media{Kind: chat.Audio, MIMEType: "audio/mp4", FileName: "speech.m4a", Size: int64(len(mp4))}},
		"nothing": {broken: "the output of sh is not there"},
		"text":    {broken: "the output of sh is text/plain, not audio"},
		"link":    {broken: "the output of sh is a link, or behind one"},
		"pipe":    {broken: "the output of sh is not a file"},
		"large":   {broken: files.ErrTooLarge.Error()},
		"fail":    {broken: "speak an answer: sh: exit status 1: no such voice"},
		"":        {broken: "nothing to say"},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			b := mediatest.Setup(t)
			dir := t.TempDir()
			speaker := speech.NewSpeaker(b.Store, program.Runner{Dir: dir}, []string{"sh", mediatest.Script(t, "speak.sh"), filepath.Join(sounds, tc.sound), "{out}"}, mediatest.Patience)
			got, err := speaker.Speak(t.Context(), spoken, text, sounding)
			if left, errLeft := os.ReadDir(dir); errLeft != nil || len(left) > 0 {
				t.Errorf("left are %v, %v", left, errLeft)
			}
			if tc.broken != "" {
				if err == nil || !strings.Contains(err.Error(), tc.broken) || len(b.Kept(t)) != 0 {
					t.Errorf("%v, kept are %q", err, b.Kept(t))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			known, file, err := b.Open(t.Context(), "telegram", got.Ref)
			if err != nil || known != got {
				t.Fatalf("%+v, %v", known, err)
			}
			defer file.Close()
			if content, err := io.ReadAll(file); err != nil || int64(len(content)) != got.Size {
				t.Errorf("%d bytes, %v", len(content), err)
			}
			got.Ref = ""
			if got != tc.want {
				t.Errorf("it is %+v, want %+v", got, tc.want)
			}
		})
	}
	b := mediatest.Setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := speech.NewSpeaker(b.Store, program.Runner{Dir: t.TempDir()}, []string{"sh", "-c", "sleep 300"}, mediatest.Patience).Speak(ctx, spoken, "x", sounding); err == nil {
		t.Error("spoken after the end")
	}
	if _, err := speech.NewSpeaker(b.Store, program.Runner{Dir: t.TempDir()}, nil, mediatest.Patience).Speak(t.Context(), spoken, "x", sounding); err == nil {
		t.Error("spoken by no one")
	}
	if _, err := speech.NewSpeaker(b.Store, program.Runner{Dir: t.TempDir()}, []string{"clawhost-no-such-program"}, mediatest.Patience).Speak(t.Context(), spoken, "x", sounding); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("a program that is not there: %v", err)
	}
}
