package speech

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/media/filetype"
	"github.com/clawhost/clawhost/core/internal/media/program"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/workspace"
)

// maxTranscript limits the part of a transcript that the agent reads, in bytes. One more byte is read, by which a longer one is known.
const maxTranscript = 16 << 10

// Transcriber transcribes voice messages. It is safe for concurrent use.
type Transcriber struct {
	Method
	files    *files.Store
	programs program.Runner
	timeout  time.Duration // of each program
}

// NewTranscriber returns a transcriber by a method.
func NewTranscriber(method Method, store *files.Store, programs program.Runner, timeout time.Duration) *Transcriber {
	return &Transcriber{Method: method, files: store, programs: programs, timeout: timeout}
}

// Transcribe returns the beginning of what is said in a file. The text is never treated as a command, because the speaker may be
// anybody. A failure is described in the result; the error has its details for the log.
func (t *Transcriber) Transcribe(ctx context.Context, instance string, m chat.Media) (domain.Extract, error) {
	failed := domain.Extract{Failure: "could not be transcribed"}
	m, file, err := t.files.Look(ctx, instance, m)
	if err != nil {
		return failed, err
	}
	defer file.Close()
	if m.Kind != chat.Voice && m.Kind != chat.Audio {
		return domain.Extract{Failure: "holds no sound"}, nil
	}
	dir, remove, err := t.programs.Folder()
	if err != nil {
		return failed, err
	}
	defer remove()
	path := filepath.Join(dir, "voice"+filetype.Ending(m.MIMEType)) // a copy, which the program may change
	if err := copyTo(path, file); err != nil {
		return failed, err
	}
	said, err := t.run(ctx, dir, path, m.MIMEType)
	if err != nil {
		return failed, fmt.Errorf("transcribe a voice message: %w", err)
	}
	return domain.Extract{Text: strings.TrimSpace(said)}, nil
}

// run runs the programs on a file in their working folder and returns the beginning of the transcript.
func (t *Transcriber) run(ctx context.Context, dir, path, mimeType string) (said string, err error) {
	format := formats[filetype.Base(mimeType)]
	for _, command := range t.steps {
		if format == "" && slices.ContainsFunc(command, func(word string) bool { return strings.Contains(word, "{format}") }) {
			return "", fmt.Errorf("%s is not a known format of sound", mimeType)
		}
		run := program.Run{
			Command: command, Values: []string{"{file}", path, "{format}", format}, Most: maxTranscript + 1,
			Timeout: t.timeout,
		}
		if said, err = t.programs.Run(ctx, dir, run); err != nil {
			return "", err
		}
	}
	if t.output == "" {
		return said, nil
	}
	folder, err := workspace.New(dir).Open()
	if err != nil {
		return "", err
	}
	defer folder.Close()
	file, err := files.OpenPlain(folder, t.output)
	if err != nil {
		return "", fmt.Errorf("%s has not written the transcript", filepath.Base(t.steps[len(t.steps)-1][0]))
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxTranscript+1))
	return strings.ToValidUTF8(string(text), ""), err
}

func copyTo(path string, content io.Reader) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
