package media

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/process"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/markdown"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// maxSpoken is the maximum length of a spoken text, in characters.
const maxSpoken = 4000

// Heard reports whether a message contains a voice message.
func Heard(list []chat.Media) bool {
	return slices.ContainsFunc(list, func(m chat.Media) bool { return m.Kind == chat.Voice })
}

// Spoken returns the part of an answer to speak, as plain text, or "". The mode is off, inbound (if the message was
// spoken), always, or tagged (what the agent has marked). A text of more than 4,000 characters is only written.
func Spoken(mode string, heard bool, a answer.Answer) string {
	text := a.Spoken
	if text == "" {
		text = a.Text
	}
	switch {
	case mode == "tagged" && !a.Aloud && a.Spoken == "":
		return ""
	case mode != "tagged" && mode != "always" && (mode != "inbound" || !heard):
		return ""
	}
	plain, _ := markdown.ToEntities(text, chat.TextLimit{})
	plain = strings.TrimSpace(plain)
	if utf8.RuneCountInString(plain) > maxSpoken {
		return ""
	}
	return plain
}

// Speaker converts texts to speech. It is safe for concurrent use.
type Speaker struct {
	files *Files
	speak program
	slots slots
}

// NewSpeaker returns a speaker that runs a command with the text as stdin and {out} for the path of the file that it
// writes. Dir contains its working folders.
func NewSpeaker(files *Files, command []string, timeout time.Duration, dir string, family *process.Family) *Speaker {
	return &Speaker{files: files, speak: program{command: command, timeout: timeout, dir: dir, family: family}, slots: slots{others: atOnce}}
}

// ErrNoSound is wrapped in the error of Speak if the chat does not accept the result.
var ErrNoSound = errors.New("the chat does not take it")

// Speak converts a text of the answer to m to speech and stores the file for m's channel: a [chat.Voice] if it is Opus in Ogg,
// which networks show as a voice message, otherwise a [chat.Audio]; or, within the chat's limits, a simpler kind. Each call
// creates a new file.
func (s *Speaker) Speak(ctx context.Context, m domain.Message, text string, limits []chat.MediaLimit) (chat.Media, error) {
	if _, most := fit(chat.Media{Kind: chat.Voice, Size: math.MaxInt64}, limits); most == 0 {
		return chat.Media{}, fmt.Errorf("speak an answer: %w", ErrNoSound)
	}
	if len(s.speak.command) == 0 || text == "" {
		return chat.Media{}, errors.New("speak an answer: there is no command for it, or nothing to say")
	}
	release, err := s.slots.take(ctx, personOf(m))
	if err != nil {
		return chat.Media{}, err
	}
	defer release()
	dir, remove, err := programFolder(s.speak.dir)
	if err != nil {
		return chat.Media{}, fmt.Errorf("speak an answer: %w", err)
	}
	defer remove()
	const name = "speech.ogg" // many programs choose the format by the extension
	if _, err := s.speak.run(ctx, dir, task{values: []string{"{out}", filepath.Join(dir, name)}, input: strings.NewReader(text + "\n")}); err != nil {
		return chat.Media{}, fmt.Errorf("speak an answer: %w", err)
	}
	voice, err := s.take(ctx, m.Channel, dir, name, limits)
	if err != nil {
		return chat.Media{}, fmt.Errorf("speak an answer: the output of %s %w", filepath.Base(s.speak.command[0]), err)
	}
	return voice, nil
}

// take stores the written file.
func (s *Speaker) take(ctx context.Context, channel, dir, name string, limits []chat.MediaLimit) (chat.Media, error) {
	folder, err := workspace.New(dir).Open()
	if err != nil {
		return chat.Media{}, err
	}
	defer folder.Close()
	file, err := openFile(folder, name)
	if err != nil {
		return chat.Media{}, err
	}
	defer file.Close()
	m, err := s.files.receive(channel, chat.Media{}, file, s.files.maxBytes)
	if err != nil {
		return chat.Media{}, err
	}
	switch {
	case m.Kind == chat.Video && soundOnly[m.MIMEType] != "":
		m.Kind, m.MIMEType = chat.Audio, soundOnly[m.MIMEType]
	case m.Kind != chat.Voice && m.Kind != chat.Audio:
		s.files.drop(channel, m.Ref)
		return chat.Media{}, fmt.Errorf("is %s, not audio", m.MIMEType)
	}
	kind, _ := fit(m, limits)
	if kind == 0 {
		s.files.drop(channel, m.Ref)
		return chat.Media{}, fmt.Errorf("has %s: %w", megabytes(m.Size), ErrNoSound)
	}
	m.Kind, m.FileName = kind, "speech"+ending(m.MIMEType)
	return m, s.files.note(ctx, channel, m)
}
