// Package extract reads what a message contains besides its text: it has voice messages transcribed and linked pages read, once each.
package extract

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"

	"github.com/clawhost/clawhost/core/internal/base/budget"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/media/program"
	"github.com/clawhost/clawhost/core/internal/media/speech"
	"github.com/clawhost/clawhost/core/internal/media/web"
	"github.com/clawhost/clawhost/core/internal/text/envelope"
	"github.com/clawhost/clawhost/sdk/chat"
)

// maxVoices limits the voice messages of one message that are transcribed.
const maxVoices = 5

// Extracts stores the text of voice messages and pages.
type Extracts interface {
	PutExtract(ctx context.Context, source string, e domain.Extract) error
	Extract(ctx context.Context, source string) (domain.Extract, error)
}

// Reader extracts text from a message's voice messages and linked pages. It is safe for concurrent use.
type Reader struct {
	extracts    Extracts
	transcriber *speech.Transcriber
	pages       *web.Pages
	voiceSlots  program.Slots
	pageSlots   program.Slots
	warnings    *budget.Warnings
}

// NewReader returns a reader.
func NewReader(extracts Extracts, transcriber *speech.Transcriber, pages *web.Pages, log hclog.Logger) *Reader {
	return &Reader{extracts: extracts, transcriber: transcriber, pages: pages, warnings: budget.NewWarnings(log, "files and pages")}
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
		if r.transcriber.Wanted() {
			all[i].Transcripts = map[chat.MediaRef]*envelope.Transcript{}
			for _, voice := range voices(m) {
				transcript := &envelope.Transcript{}
				all[i].Transcripts[voice.Ref] = transcript
				if r.transcriber.Missing() {
					all[i].Unheard = true
					// not stored: one may be later
					transcript.Problem = "could not be transcribed, because no program for that is installed here"
					continue
				}
				group.Go(func() error {
					source := "voice:" + m.Channel + "/" + string(voice.Ref)
					e, err := r.once(ctx, &r.voiceSlots, m, source, func(ctx context.Context) (domain.Extract, error) {
						return r.transcriber.Transcribe(ctx, m.Channel, voice)
					})
					*transcript = envelope.Transcript{Text: e.Text, Problem: e.Failure}
					return err
				})
			}
		}
		if addresses := r.addresses(m); len(addresses) > 0 {
			all[i].Pages = make([]envelope.Page, len(addresses))
			for n, address := range addresses {
				group.Go(func() error {
					e, err := r.once(ctx, &r.pageSlots, m, "page:"+q.UUID+" "+address, func(ctx context.Context) (domain.Extract, error) {
						return r.pages.Read(ctx, address)
					})
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
	return r.transcriber.Wanted() && len(voices(q.Message)) > 0 || len(r.addresses(q.Message)) > 0
}

// addresses returns the links of a message that are read.
func (r *Reader) addresses(m domain.Message) []string {
	if m.Origin != "" {
		return nil
	}
	return r.pages.Links(m.Text, m.Authority)
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

// once returns the stored text of a source, or extracts it for a message's sender and stores it. Its error means that ctx ended.
func (r *Reader) once(
	ctx context.Context, slots *program.Slots, m domain.Message, source string, extract func(context.Context) (domain.Extract, error),
) (domain.Extract, error) {
	kept, err := r.extracts.Extract(ctx, source)
	if err == nil {
		return kept, nil
	}
	if !errors.Is(err, domain.ErrNotFound) && ctx.Err() == nil {
		r.warnings.Warn("cannot look for what was made of a file or a page", "error", err)
	}
	release, err := slots.Take(ctx, program.PersonOf(m))
	if err != nil {
		return domain.Extract{}, err
	}
	defer release()
	made, err := extract(ctx)
	if ctx.Err() != nil {
		return domain.Extract{}, context.Cause(ctx) // not stored: the next attempt may succeed
	}
	if err != nil {
		r.warnings.Warn("a file or a page could not be read", "error", err)
	}
	if err := r.extracts.PutExtract(ctx, source, made); err != nil && ctx.Err() == nil {
		r.warnings.Warn("cannot keep what was made of a file or a page", "error", err)
	}
	return made, nil
}
