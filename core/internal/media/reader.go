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
	"github.com/clawhost/clawhost/sdk/workspace"
)

const (
	// maxTranscript and maxPage limit the parts of a transcript and of a page that the agent reads, in bytes.
	maxTranscript = 16 << 10
	maxPage       = 8 << 10
	// maxVoices limits the voice messages of one message that are transcribed.
	maxVoices = 5
	// atOnce limits the concurrent programs of one kind, besides the one that is reserved for owners.
	atOnce = 2
)

// Extracts stores the text of voice messages and pages.
type Extracts interface {
	PutExtract(ctx context.Context, source string, e domain.Extract) error
	Extract(ctx context.Context, source string) (domain.Extract, error)
}

// ReaderOptions are the settings and dependencies of a [Reader].
type ReaderOptions struct {
	Files             *Files
	Extracts          Extracts
	Transcriber       Transcriber
	TranscribeTimeout time.Duration // of each of its programs
	// Links is the command that prints a page's text, with {url} for its address; empty: none.
	Links []string
	// Fetch has the reader fetch pages itself where there is no command, for people who may use commands.
	Fetch bool
	// Self is the path of this process's program. With [PageCommand] as its argument it must call [ReadPage].
	Self         string
	LinksTimeout time.Duration
	// Dir contains the programs' working folders.
	Dir string
	// Family runs the programs; nil: processes that leave their trees are not found.
	Family *process.Family
}

// Reader extracts text from a message's voice messages and linked pages. It is safe for concurrent use.
type Reader struct {
	options    ReaderOptions
	links      program // the operator's command for pages
	pages      program // the host's own program, for HTML
	guard      guard
	web        fetcher
	voiceSlots slots
	pageSlots  slots
	complaints complaints
}

// NewReader returns a reader.
func NewReader(options ReaderOptions, log hclog.Logger) *Reader {
	return newReader(options, newGuard(), log)
}

func newReader(options ReaderOptions, g guard, log hclog.Logger) *Reader {
	return &Reader{
		options: options, guard: g, web: newFetcher(g), complaints: complaints{log: log}, voiceSlots: slots{others: atOnce}, pageSlots: slots{others: atOnce},
		links: program{command: options.Links, timeout: options.LinksTimeout, dir: options.Dir, family: options.Family},
		pages: program{command: []string{"clawhost", PageCommand}, path: options.Self, timeout: options.LinksTimeout, dir: options.Dir, family: options.Family},
	}
}

// Read is the text that a [Reader] extracted from a message.
type Read struct {
	Transcripts map[chat.MediaRef]*envelope.Transcript // by the voice messages' refs
	Pages       []envelope.Page                        // in the order of the links
	// Unheard means that no program for its voice messages is installed.
	Unheard bool
}

// Read extracts text from messages, by their uuids. Failures are described in the text; an error means that ctx ended. Each
// extraction is made only once. Messages without anything to extract are not in the result.
func (r *Reader) Read(ctx context.Context, messages ...domain.Queued) (map[string]Read, error) {
	if !slices.ContainsFunc(messages, r.reads) {
		return nil, nil
	}
	all := make([]Read, len(messages))
	group, ctx := errgroup.WithContext(ctx)
	for i, q := range messages {
		m := q.Message
		if r.options.Transcriber.wanted {
			all[i].Transcripts = map[chat.MediaRef]*envelope.Transcript{}
			for _, voice := range voices(m) {
				transcript := &envelope.Transcript{}
				all[i].Transcripts[voice.Ref] = transcript
				if r.options.Transcriber.Missing() {
					all[i].Unheard = true
					transcript.Problem = "could not be transcribed, because no program for that is installed here" // not stored: one may be later
					continue
				}
				group.Go(func() error {
					e, err := r.once(ctx, &r.voiceSlots, personOf(m), "voice:"+m.Channel+"/"+string(voice.Ref), func(ctx context.Context) (domain.Extract, error) { return r.heard(ctx, m.Channel, voice) })
					*transcript = envelope.Transcript{Text: e.Text, Problem: e.Failure}
					return err
				})
			}
		}
		if addresses := r.addresses(m); len(addresses) > 0 {
			all[i].Pages = make([]envelope.Page, len(addresses))
			for n, address := range addresses {
				group.Go(func() error {
					e, err := r.once(ctx, &r.pageSlots, personOf(m), "page:"+q.UUID+" "+address, func(ctx context.Context) (domain.Extract, error) { return r.page(ctx, address) })
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

// reads reports whether a message may contain something to extract.
func (r *Reader) reads(q domain.Queued) bool {
	return r.options.Transcriber.wanted && len(voices(q.Message)) > 0 || len(r.addresses(q.Message)) > 0
}

// addresses returns the links of a message that are read.
func (r *Reader) addresses(m domain.Message) []string {
	if m.Origin != "" || len(r.options.Links) == 0 && (!r.options.Fetch || m.Authority < chat.Authorised) {
		return nil
	}
	return links(m.Text)
}

// voices returns the files of a message, and of its quote, that are transcribed.
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

// once returns the stored text of a source, or extracts it for a person and stores it. Its error means that ctx ended.
func (r *Reader) once(ctx context.Context, slots *slots, p person, source string, extract func(context.Context) (domain.Extract, error)) (domain.Extract, error) {
	kept, err := r.options.Extracts.Extract(ctx, source)
	if err == nil {
		return kept, nil
	}
	if !errors.Is(err, domain.ErrNotFound) && ctx.Err() == nil {
		r.complaints.warn("cannot look for what was made of a file or a page", "error", err)
	}
	release, err := slots.take(ctx, p)
	if err != nil {
		return domain.Extract{}, err
	}
	defer release()
	made, err := extract(ctx)
	if ctx.Err() != nil {
		return domain.Extract{}, context.Cause(ctx) // not stored: the next attempt may succeed
	}
	if err != nil {
		r.complaints.warn("a file or a page could not be read", "error", err)
	}
	if err := r.options.Extracts.PutExtract(ctx, source, made); err != nil && ctx.Err() == nil {
		r.complaints.warn("cannot keep what was made of a file or a page", "error", err)
	}
	return made, nil
}

// heard transcribes a file. The text is never treated as a command, because the speaker may be anybody.
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
	dir, remove, err := programFolder(r.options.Dir)
	if err != nil {
		return failed, err
	}
	defer remove()
	path := filepath.Join(dir, "voice"+ending(m.MIMEType)) // a copy, which the program may change
	if err := copyTo(path, file); err != nil {
		return failed, err
	}
	said, err := r.transcribe(ctx, dir, path, m.MIMEType)
	if err != nil {
		return failed, fmt.Errorf("transcribe a voice message: %w", err)
	}
	return domain.Extract{Text: strings.TrimSpace(said)}, nil
}

// transcribe runs the programs on a file in their working folder and returns the beginning of the transcript.
func (r *Reader) transcribe(ctx context.Context, dir, path, mimeType string) (said string, err error) {
	format := formats[baseType(mimeType)]
	for _, command := range r.options.Transcriber.steps {
		if format == "" && slices.ContainsFunc(command, func(word string) bool { return strings.Contains(word, "{format}") }) {
			return "", fmt.Errorf("%s is not a known format of sound", mimeType)
		}
		p := program{command: command, timeout: r.options.TranscribeTimeout, dir: r.options.Dir, family: r.options.Family}
		if said, err = p.run(ctx, dir, task{values: []string{"{file}", path, "{format}", format}, most: maxTranscript + 1}); err != nil {
			return "", err
		}
	}
	if r.options.Transcriber.output == "" {
		return said, nil
	}
	folder, err := workspace.New(dir).Open()
	if err != nil {
		return "", err
	}
	defer folder.Close()
	file, err := openFile(folder, r.options.Transcriber.output)
	if err != nil {
		return "", fmt.Errorf("%s has not written the transcript", filepath.Base(r.options.Transcriber.steps[len(r.options.Transcriber.steps)-1][0]))
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

// page reads a linked page. Message authors choose the address, so non-public ones are refused.
func (r *Reader) page(ctx context.Context, address string) (domain.Extract, error) {
	if len(r.options.Links) == 0 {
		return r.fetchPage(ctx, address)
	}
	u, err := r.guard.check(ctx, address)
	if err != nil {
		return domain.Extract{Failure: fmt.Sprintf("%s, so it was not read", err)}, nil
	}
	dir, remove, err := programFolder(r.options.Dir)
	if err != nil {
		return domain.Extract{Failure: "could not be read"}, err
	}
	defer remove()
	text, err := r.links.run(ctx, dir, task{values: []string{"{url}", unexpanded(u)}, most: maxPage + 1})
	if err != nil {
		return domain.Extract{Failure: "could not be read"}, fmt.Errorf("read a page of %s: %w", u.Hostname(), err)
	}
	return domain.Extract{Text: strings.TrimSpace(text)}, nil
}
