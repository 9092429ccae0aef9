package view

import (
	"context"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/core/internal/media/outgoing"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/sdk/chat"
)

// files are what an answer sends besides its text.
type files struct {
	within []stream.Placed       // placed within the text
	behind []domain.OutboxItem   // sent after the text
	before bool                  // some were sent before
	dealt  []domain.OutgoingFile // those of the conversation's folder that this answer uses
}

// behind is the place of a file that is sent after the text.
const behind = -1

// place adds a file at a place in the text.
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

// files collects what the answer sends besides its text: the files that it or an earlier text names or that are in the
// conversation's folder, its speech, and a line for what could not be sent.
func (v *View) files(ctx context.Context, said answer.Answer, before []string) (f files, err error) {
	m := v.run.Head.Message
	w := v.wanted()
	dealt := v.stream.Files().Dealt
	f.before = len(w.Before) > 0
	var places []int // by path
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
	if v.stream.ByTool(said.Text, true) {
		name(said, 0) // only its speech is sent
	} else {
		name(said, len(said.Text))
	}
	if len(w.Paths) > 0 || w.Session != "" {
		found, err := v.views.options.Files[v.run.Agent.Label].Collect(ctx, w)
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

// wanted returns how the run's files are collected, without any that are named.
func (v *View) wanted() outgoing.Wanted {
	m := v.run.Head.Message
	sent := v.stream.Files()
	w := outgoing.Wanted{
		Channel: m.Channel, Folder: v.run.Folder, Before: sent.Names, Already: sent.Ahead,
		Private: v.run.Owned && m.Chat.Kind == chat.Direct, Limits: v.run.Limits.MediaOut,
	}
	if sendsFiles(v.run) {
		w.Session = v.run.Head.ClaudeSession
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

// sendsFiles reports whether the files in the folder of a run's conversation are sent with its answer. If not, for
// example because the channel's limits are not known yet, they stay for the next answer.
func sendsFiles(run *conversation.Run) bool {
	m := run.Head.Message
	return len(run.Limits.MediaOut) > 0 && !m.Silent && m.Origin != domain.OriginCompact
}
