package media

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

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/envelope"
	"github.com/clawhost/clawhost/core/internal/process"
	"github.com/clawhost/clawhost/sdk/chat"
)

const (
	// maxTranscript and maxPage are how much of a transcript and of a page the agent reads, in bytes.
	maxTranscript = 16 << 10
	maxPage       = 8 << 10
	// maxVoices is how many voice messages of one message are written down.
	maxVoices = 5
	// atOnce is how many programs run at the same time, over all turns.
	atOnce = 2
)

// Extracts keeps what was made of voice messages and pages.
type Extracts interface {
	PutExtract(ctx context.Context, source string, e domain.Extract) error
	Extract(ctx context.Context, source string) (domain.Extract, error)
}

// ReaderOptions are what a [Reader] works with.
type ReaderOptions struct {
	Files    *Files
	Extracts Extracts
	// Transcribe is the command that writes down a voice message, with {file} for its path; empty: none is.
	Transcribe        []string
	TranscribeTimeout time.Duration
	// Links is the command that prints a page's text, with {url} for its address; empty: none is read.
	Links        []string
	LinksTimeout time.Duration
	// Dir is where the programs' working folders are made.
	Dir string
	// Children start the programs; nil: nothing that leaves their trees is adopted.
	Children *process.Children
}

// Reader makes text of what a message brings that is none: what was said in its voice messages, and what its links lead to.
// It is safe for concurrent use.
type Reader struct {
	options    ReaderOptions
	transcribe program
	links      program
	guard      guard
	slots      chan struct{}
	complaints complaints
}

// NewReader returns a reader.
func NewReader(options ReaderOptions, log hclog.Logger) *Reader {
	return newReader(options, newGuard(), log)
}

func newReader(options ReaderOptions, g guard, log hclog.Logger) *Reader {
	return &Reader{
		options: options, guard: g, complaints: complaints{log: log}, slots: make(chan struct{}, atOnce),
		transcribe: program{options.Transcribe, options.TranscribeTimeout, options.Dir, options.Children},
		links:      program{options.Links, options.LinksTimeout, options.Dir, options.Children},
	}
}

// Read is what a [Reader] made of a message.
type Read struct {
	Transcripts map[chat.MediaRef]*envelope.Transcript // by the voice messages' refs
	Pages       []envelope.Page                        // in the order of the links
}

// Read makes text of messages, by their uuids. What fails is told in the text; an error says that ctx ended. What was made
// once of a message is not made again. Where there is nothing to be made, nothing is returned.
func (r *Reader) Read(ctx context.Context, messages ...domain.Queued) (map[string]Read, error) {
	if !slices.ContainsFunc(messages, r.reads) {
		return nil, nil
	}
	all := make([]Read, len(messages))
	group, ctx := errgroup.WithContext(ctx)
	for i, q := range messages {
		m := q.Message
		if len(r.options.Transcribe) > 0 {
			all[i].Transcripts = map[chat.MediaRef]*envelope.Transcript{}
			for _, voice := range voices(m) {
				transcript := &envelope.Transcript{}
				all[i].Transcripts[voice.Ref] = transcript
				group.Go(func() error {
					e, err := r.once(ctx, "voice:"+m.Channel+"/"+string(voice.Ref), func(ctx context.Context) (domain.Extract, error) { return r.heard(ctx, m.Channel, voice) })
					*transcript = envelope.Transcript{Text: e.Text, Problem: e.Failure}
					return err
				})
			}
		}
		if len(r.options.Links) > 0 && m.Origin == "" {
			addresses := links(m.Text)
			all[i].Pages = make([]envelope.Page, len(addresses))
			for n, address := range addresses {
				group.Go(func() error {
					e, err := r.once(ctx, "page:"+q.UUID+" "+address, func(ctx context.Context) (domain.Extract, error) { return r.page(ctx, address) })
					all[i].Pages[n] = envelope.Page{URL: address, Text: e.Text, Problem: e.Failure}
					return err
				})
			}
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	read := make(map[string]Read, len(messages))
	for i, q := range messages {
		read[q.UUID] = all[i]
	}
	return read, nil
}

// reads tells whether there may be something to read of a message.
func (r *Reader) reads(q domain.Queued) bool {
	return len(r.options.Transcribe) > 0 && len(voices(q.Message)) > 0 || len(r.options.Links) > 0 && q.Message.Origin == ""
}

// voices are the files of a message, and of the one that it quotes, that are written down.
func voices(message domain.Message) []chat.Media {
	list := message.Media
	if message.ReplyTo != nil {
		list = slices.Concat(list, message.ReplyTo.Media)
	}
	var found []chat.Media
	for _, m := range list {
		if m.Ref != "" && (m.Kind == chat.Voice || m.Kind == chat.Audio) && len(found) < maxVoices {
			found = append(found, m)
		}
	}
	return found
}

// once returns what was made of a source, or makes it now and keeps it. Its error says that ctx ended.
func (r *Reader) once(ctx context.Context, source string, extract func(context.Context) (domain.Extract, error)) (domain.Extract, error) {
	kept, err := r.options.Extracts.Extract(ctx, source)
	if err == nil {
		return kept, nil
	}
	if !errors.Is(err, domain.ErrNotFound) && ctx.Err() == nil {
		r.complaints.warn("look for what was made of a file or a page", "error", err)
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return domain.Extract{}, context.Cause(ctx)
	}
	made, err := extract(ctx)
	if ctx.Err() != nil {
		return domain.Extract{}, context.Cause(ctx) // nothing came of it, and the next attempt may have more luck
	}
	if err != nil {
		r.complaints.warn("a file or a page could not be read", "error", err)
	}
	if err := r.options.Extracts.PutExtract(ctx, source, made); err != nil && ctx.Err() == nil {
		r.complaints.warn("keep what was made of a file or a page", "error", err)
	}
	return made, nil
}

// heard writes down what is said in a file. It is never taken for a command: whoever is heard may be anybody.
func (r *Reader) heard(ctx context.Context, instance string, m chat.Media) (domain.Extract, error) {
	failed := domain.Extract{Failure: "could not be transcribed"}
	m, file, err := r.options.Files.look(instance, m)
	if err != nil {
		return failed, err
	}
	defer file.Close()
	if m.Kind != chat.Voice && m.Kind != chat.Audio {
		return domain.Extract{Failure: "holds no sound"}, nil
	}
	dir, remove, err := r.transcribe.workspace()
	if err != nil {
		return failed, err
	}
	defer remove()
	path := filepath.Join(dir, "voice"+ending(m.MIMEType)) // a copy: the program may do with it what it likes
	if err := copyTo(path, file); err != nil {
		return failed, err
	}
	said, err := r.transcribe.run(ctx, dir, task{placeholder: "{file}", value: path, most: maxTranscript + 1})
	if err != nil {
		return failed, fmt.Errorf("transcribe a voice message: %w", err)
	}
	return domain.Extract{Text: strings.TrimSpace(said)}, nil
}

func copyTo(path string, content io.Reader) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// page reads what a link leads to. Whoever writes to the bot chooses the address, so nothing that is not public is asked for.
func (r *Reader) page(ctx context.Context, address string) (domain.Extract, error) {
	u, err := r.guard.check(ctx, address)
	if err != nil {
		return domain.Extract{Failure: fmt.Sprintf("%s, so it was not read", err)}, nil
	}
	dir, remove, err := r.links.workspace()
	if err != nil {
		return domain.Extract{Failure: "could not be read"}, err
	}
	defer remove()
	text, err := r.links.run(ctx, dir, task{placeholder: "{url}", value: unexpanded(u), most: maxPage + 1})
	if err != nil {
		return domain.Extract{Failure: "could not be read"}, fmt.Errorf("read a page of %s: %w", u.Hostname(), err)
	}
	return domain.Extract{Text: strings.TrimSpace(text)}, nil
}
