package view

import (
	"context"
	"strings"

	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/media"
	"github.com/clawhost/clawhost/core/internal/stream"
	"github.com/clawhost/clawhost/sdk/chat"
)

// files are what an answer sends beside its text.
type files struct {
	within []stream.Placed       // that stand within the text
	behind []domain.OutboxItem   // what comes behind it
	before bool                  // some were sent before
	dealt  []domain.OutgoingFile // those of the conversation's folder that the others deal with
}

// behind is the place of a file that does not stand within the text.
const behind = -1

// place puts a file where it stands, with what stands there.
func (f *files) place(to chat.Address, file chat.Media, at int) {
	switch last := len(f.within) - 1; {
	case at != behind && last >= 0 && f.within[last].At == at:
		f.within[last].Media = append(f.within[last].Media, file)
	case at != behind:
		f.within = append(f.within, stream.Placed{At: at, Media: []chat.Media{file}})
	case len(f.behind) == 0:
		f.behind = []domain.OutboxItem{{To: to, Media: []chat.Media{file}}}
	default:
		f.behind[0].Media = append(f.behind[0].Media, file)
	}
}

// files takes what the answer sends beside its text: the files that it, or a text before it, names or that are in their folder,
// its speech, and what could not be sent. Its error is that of taking them.
func (v *view) files(ctx context.Context, said answer.Answer, before []string) (f files, err error) {
	m := v.run.Message.Message
	w := v.wanted()
	_, dealt := v.sent.files()
	f.before = len(w.Before) > 0
	var places []int // of what each path names
	name := func(a answer.Answer, end int) {
		w.Voice = w.Voice || a.Voice
		for _, named := range a.Media {
			place := behind
			if named.At < end {
				place = named.At
			}
			w.Paths, places = append(w.Paths, named.Path), append(places, place)
		}
	}
	for _, a := range parsed(before) {
		name(a, 0)
	}
	if v.sent.has(said.Text, true) {
		name(said, 0) // It is not sent.
	} else {
		name(said, len(said.Text))
	}
	if len(w.Paths) > 0 || w.Session != "" {
		found, err := v.views.options.Files.Collect(ctx, w)
		if err != nil {
			return files{}, err
		}
		for i, taken := range found.Media {
			place := behind
			if named := found.By[i]; named >= 0 {
				place = places[named]
			}
			f.place(m.Address(), taken, place)
		}
		if len(found.Problems) > 0 {
			f.behind = append(f.behind, v.run.Notice(strings.Join(found.Problems, "\n"))...)
		}
		dealt = append(dealt, found.Files...)
	}
	f.behind = append(f.behind, v.views.spoken(ctx, v.run, said, w.Limits)...)
	f.dealt = dealt
	return f, nil
}

// wanted is what the run's files are taken by, without any that are named.
func (v *view) wanted() media.Wanted {
	m := v.run.Message.Message
	sent, _ := v.sent.files()
	w := media.Wanted{
		Channel: m.Channel, Before: sent, Already: v.sent.wentAhead(),
		Private: v.run.Owned && m.Chat.Kind == chat.Direct, Limits: v.run.Limits.MediaOut,
	}
	if sendsFiles(v.run) {
		w.Session = v.run.Message.ClaudeSession
	}
	return w
}

// parsed takes texts apart.
func parsed(texts []string) []answer.Answer {
	list := make([]answer.Answer, len(texts))
	for i, text := range texts {
		list[i] = answer.Parse(text, true)
	}
	return list
}

// sendsFiles reports whether what is in the folder of a run's conversation goes with its answer. Else it stays, for the next: as
// while it is not known what the channel takes.
func sendsFiles(run *conversation.Turn) bool {
	m := run.Message.Message
	return len(run.Limits.MediaOut) > 0 && !m.Silent && m.Origin != domain.OriginCompact
}
