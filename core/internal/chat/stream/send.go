package stream

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/core/internal/text/chunk"
)

// sendsSteps reports whether a text before a tool stays in the chat: if such texts do, or if its sending has begun.
func (s *Stream) sendsSteps(t text) bool {
	return !s.ByTool(t.Text, true) && (s.options.Mode == Blocks || s.options.Steps || t.begun(s.said))
}

// send sends all that is due, and returns when to look again without news.
func (s *Stream) send(ctx context.Context, p agent.Progress) time.Time {
	if !s.options.Shows() {
		return time.Time{}
	}
	s.done = s.processed(p)
	for !s.silent && ctx.Err() == nil {
		e, next, due := s.due(ctx, p)
		if !due {
			return next
		}
		s.commit(ctx, e)
	}
	return time.Time{}
}

// early is something to send.
type early struct {
	domain.Early
	tools bool   // it lists the tools that were used
	piece bool   // it is the next piece of a text
	upTo  string // the piece's: what is said of the text once it is sent
}

// due returns what to send next, or when to look again.
func (s *Stream) due(ctx context.Context, p agent.Progress) (e early, next time.Time, due bool) {
	now := time.Now()
	for ; s.done < len(p.Done); s.done++ {
		step := p.Done[s.done]
		if step.Tool.Name != "" {
			s.use(step.Tool, now)
			continue
		}
		t := textOf(step)
		if !s.sendsSteps(t) {
			s.pass(t)
			continue
		}
		left := s.left(t.Answer) != ""
		if len(s.tools) > 0 && (left || s.filesHere(t.Answer) > 0) {
			return s.used(), time.Time{}, true
		}
		if e, due := s.file(ctx, t.Answer); due {
			return e, time.Time{}, true
		}
		if left {
			if now.Before(s.blockAt) {
				return early{}, s.blockAt, false
			}
			e, due := s.piece(t.Answer, s.blockRule(), chunk.Cut{Over: true})
			if chunk.Rest(t.Text, len(e.Said)) == "" {
				e.Said = t.remains(e.Said) // The text is complete: the next attempt's answer must not be taken for its continuation.
			}
			if due {
				return e, time.Time{}, true
			}
		}
		s.pass(t)
	}
	if s.said != s.stored && !s.restarted {
		// As above, for a text that was sent completely when it ended.
		return early{Early: domain.Early{Said: s.said}}, time.Time{}, true
	}

	a := s.making
	if len(s.tools) > 0 {
		if next = s.toolsAt.Add(toolPause); a.Text != "" || s.filesHere(a) > 0 || !now.Before(next) {
			return s.used(), time.Time{}, true
		}
	}
	if a.Text == "" && len(a.Media) == 0 || !s.follow(a, false) {
		return early{}, next, false
	}
	switch s.options.Mode {
	case Blocks:
		if !s.options.Block.Whole {
			if e, due := s.file(ctx, a); due {
				return e, time.Time{}, true
			}
		}
		cut, again, ready := s.cut(p, now)
		if ready {
			e, due = s.piece(a, s.blockRule(), cut)
		}
		return e, soonest(next, again), due
	case Preview, Draft:
		// What does not fit into the preview stays in the chat, and the next preview shows the rest.
		e, due = s.piece(a, s.options.Rule, chunk.Cut{Min: math.MaxInt})
		return e, next, due
	default:
		return early{}, next, false
	}
}

// filesHere returns how many of a text's files are at the place where the sent part ends and were not taken.
func (s *Stream) filesHere(a answer.Answer) int {
	if s.options.Mode != Blocks || !s.options.Files {
		return 0
	}
	n := s.files
	for n < len(a.Media) && chunk.Rest(a.Text[:a.Media[n].At], len(s.said)) == "" {
		n++
	}
	return max(0, n-s.files)
}

// file takes the files at the place where the sent part of a text ends.
func (s *Stream) file(ctx context.Context, a answer.Answer) (e early, due bool) {
	here := s.filesHere(a)
	if here == 0 {
		return early{}, false
	}
	var paths []string
	for _, m := range a.Media[s.files : s.files+here] {
		paths = append(paths, m.Path)
	}
	s.files += here
	taken := s.surface.Files(ctx, paths, a.Voice)
	if len(taken.Items) == 0 {
		return early{}, false
	}
	e = early{Early: s.early(taken.Items)}
	e.Sent, e.Files = taken.Sent, taken.Files
	return e, true
}

// use adds a used tool to those to be shown.
func (s *Stream) use(tool agent.ToolUse, now time.Time) {
	if !s.options.listsTools() {
		return
	}
	if len(s.tools) == 0 {
		s.toolsAt = now
	}
	s.tools = append(s.tools, tool)
}

// used describes the tools that were used.
func (s *Stream) used() early {
	var pieces []domain.OutboxItem
	for _, text := range chunk.Split(toolList(s.tools, s.options.Verbose), s.options.Rule) {
		pieces = append(pieces, domain.OutboxItem{To: s.options.To, Text: text})
	}
	return early{Early: s.early(pieces), tools: true}
}

// cut returns where a block may end now; if none is ready, again is when to look.
func (s *Stream) cut(p agent.Progress, now time.Time) (cut chunk.Cut, again time.Time, ready bool) {
	b := s.options.Block
	if b.Whole {
		return chunk.Cut{}, time.Time{}, false
	}
	if now.Before(s.blockAt) {
		return chunk.Cut{}, s.blockAt, false
	}
	cut = chunk.Cut{At: b.At, Min: b.Min}
	if s.options.Rule.Paragraphs {
		cut = chunk.Cut{At: chunk.Paragraph}
	}
	quiet := s.since.Add(b.Idle)
	switch {
	case now.Before(quiet):
		return cut, quiet, true
	case p.Complete:
		cut.Over = true
	case b.Idle > 0:
		cut.Pause = true
	}
	return cut, time.Time{}, true
}

// blockRule is the rule of a block.
func (s *Stream) blockRule() chunk.Rule {
	r := s.options.Rule
	if most := s.options.Block.Max; s.options.Mode == Blocks && most > 0 && (r.Limit.Max <= 0 || most < r.Limit.Max) {
		r.Limit.Max = most
	}
	return r
}

// piece returns the next item of a text, if one is due.
func (s *Stream) piece(a answer.Answer, r chunk.Rule, cut chunk.Cut) (e early, due bool) {
	s.cutter.heads = nil
	if s.restarted {
		s.cutter.heads = []string{wording.AnswerRestarted}
	}
	pieces, end := s.cutter.next(a, len(s.said), r, cut)
	if len(pieces) == 0 {
		return early{}, false
	}
	e.Early = s.early(pieces)
	e.Said = a.Text[:end]
	e.piece, e.upTo = true, e.Said
	return e, true
}

// early returns what sends items in place of the preview. What is said does not change.
func (s *Stream) early(items []domain.OutboxItem) domain.Early {
	return domain.Early{Items: s.replace(s.options.To, items), Said: s.stored, Unpreview: s.preview != 0}
}

// commit sends something, if the chat keeps up with it.
func (s *Stream) commit(ctx context.Context, e early) bool {
	if len(e.Items) > 0 || e.Preview != nil {
		behind, err := s.surface.Behind(context.WithoutCancel(ctx)) // The end of the turn is no failure.
		if err != nil || !behind.IsZero() && time.Since(behind) > patience {
			s.silent = true
			return false
		}
	}
	return s.post(ctx, e)
}

// post sends something, even if the stream's context is done.
func (s *Stream) post(ctx context.Context, e early) bool {
	preview, err := s.surface.Early(context.WithoutCancel(ctx), e.Early)
	if err != nil {
		if s.silent = true; errors.Is(err, domain.ErrFenced) {
			s.cancel()
		}
		return false
	}
	if e.Sent != nil {
		s.addAhead(*e.Sent, e.Files)
	}
	if e.Unpreview {
		s.shown = ""
	}
	s.preview, s.stored = preview, e.Said
	if e.tools {
		s.tools = nil
	}
	if e.piece {
		s.cutter.commit()
		s.said, s.restarted, s.begun = e.upTo, false, true
		if s.options.Mode == Blocks && s.options.Delay.Max > 0 {
			s.blockAt = time.Now().Add(s.options.Delay.next())
		}
	}
	return true
}
