// Package speech turns voice messages into text and answers into voice messages, by programs that the operator has installed.
package speech

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/media/filetype"
	"github.com/clawhost/clawhost/core/internal/media/program"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// Speaker converts texts to speech. It is safe for concurrent use.
type Speaker struct {
	files    *files.Store
	programs program.Runner
	command  []string
	timeout  time.Duration
	slots    program.Slots
}

// NewSpeaker returns a speaker that runs a command with the text as stdin and {out} for the path of the file that it
// writes.
func NewSpeaker(store *files.Store, programs program.Runner, command []string, timeout time.Duration) *Speaker {
	return &Speaker{files: store, programs: programs, command: command, timeout: timeout}
}

// ErrNoSound is wrapped in the error of Speak if the chat does not accept the result.
var ErrNoSound = errors.New("the chat does not take it")

// Speak converts a text of the answer to m to speech and stores the file for m's channel: a [chat.Voice] if it is Opus in Ogg,
// which networks show as a voice message, otherwise a [chat.Audio]; or, within the chat's limits, a simpler kind. Each call
// creates a new file.
func (s *Speaker) Speak(ctx context.Context, m domain.Message, text string, limits []chat.MediaLimit) (chat.Media, error) {
	if _, most := filetype.Fit(chat.Media{Kind: chat.Voice, Size: math.MaxInt64}, limits); most == 0 {
		return chat.Media{}, fmt.Errorf("speak an answer: %w", ErrNoSound)
	}
	if len(s.command) == 0 || text == "" {
		return chat.Media{}, errors.New("speak an answer: there is no command for it, or nothing to say")
	}
	release, err := s.slots.Take(ctx, program.PersonOf(m))
	if err != nil {
		return chat.Media{}, err
	}
	defer release()
	dir, remove, err := s.programs.Folder()
	if err != nil {
		return chat.Media{}, fmt.Errorf("speak an answer: %w", err)
	}
	defer remove()
	const name = "speech.ogg" // many programs choose the format by the extension
	run := program.Run{
		Command: s.command, Values: []string{"{out}", filepath.Join(dir, name)},
		Input: strings.NewReader(text + "\n"), Timeout: s.timeout,
	}
	if _, err := s.programs.Run(ctx, dir, run); err != nil {
		return chat.Media{}, fmt.Errorf("speak an answer: %w", err)
	}
	voice, err := s.take(ctx, m.Channel, dir, name, limits)
	if err != nil {
		return chat.Media{}, fmt.Errorf("speak an answer: the output of %s %w", filepath.Base(s.command[0]), err)
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
	file, err := files.OpenPlain(folder, name)
	if err != nil {
		return chat.Media{}, err
	}
	defer file.Close()
	m, err := s.files.Receive(channel, chat.Media{Kind: chat.Audio}, file, s.files.MaxBytes())
	if err != nil {
		return chat.Media{}, err
	}
	if m.Kind = filetype.KindOf(m.MIMEType); m.Kind != chat.Voice && m.Kind != chat.Audio {
		s.files.Drop(ctx, channel, m.Ref)
		return chat.Media{}, fmt.Errorf("is %s, not audio", m.MIMEType)
	}
	kind, _ := filetype.Fit(m, limits)
	if kind == 0 {
		s.files.Drop(ctx, channel, m.Ref)
		return chat.Media{}, fmt.Errorf("has %s: %w", filetype.Megabytes(m.Size), ErrNoSound)
	}
	m.Kind, m.FileName = kind, "speech"+filetype.Ending(m.MIMEType)
	return m, s.files.Record(ctx, channel, m)
}
