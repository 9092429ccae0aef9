package stream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/text/chunk"
)

// maxRunning bounds how many running tools are shown.
const maxRunning = 5

// maxThought bounds how much of the reasoning is shown: its end, in bytes.
const maxThought = 600

// show updates the preview or the draft, and returns when to look again without news. Updating is the context of the
// call to the plugin, which may outlive ctx for a moment.
func (s *Stream) show(ctx, updating context.Context, p agent.Progress) time.Time {
	if s.options.Mode != Preview && s.options.Mode != Draft || ctx.Err() != nil {
		return time.Time{}
	}
	now := time.Now()
	again := s.work(p, now)
	if next := s.shownAt.Add(s.options.interval()); !s.shownAt.IsZero() && now.Before(next) {
		return next
	}
	text := s.display(p, now)
	if text == "" {
		return again
	}
	if s.options.Mode == Draft {
		again = soonest(again, now.Add(draftLife))
	}
	if text == s.shown && (s.options.Mode == Preview || !s.gone.Load() && now.Before(s.shownAt.Add(draftLife))) {
		return again
	}
	s.gone.Store(false)
	if s.put(ctx, updating, text) {
		s.shown = text
	}
	s.shownAt = time.Now()
	if s.options.Mode == Blocks {
		return now // It was a draft until now, and a block may be due.
	}
	return again
}

// put shows a text.
func (s *Stream) put(ctx, updating context.Context, text string) bool {
	if s.options.Mode == Draft {
		err := s.surface.Draft(updating, text)
		if !errors.Is(err, ErrRefused) {
			return err == nil
		}
		if s.options.Mode, s.shown = s.options.Undrafted, ""; s.options.Mode != Preview {
			return false
		}
	}
	if s.preview != 0 {
		if err := s.surface.Show(updating, s.preview, text); !errors.Is(err, ErrLate) {
			return err == nil
		}
	}
	if s.silent {
		return false
	}
	to := s.options.Quoting.Target(s.making.ReplyAt(len(s.said)), s.cutter.first)
	item := domain.OutboxItem{To: s.options.To, Text: text, Buttons: s.options.Stop, ReplyTo: to, Kept: true}
	preview := s.replace(s.options.To, []domain.OutboxItem{item})[0]
	return s.commit(ctx, early{Early: domain.Early{Preview: &preview, Said: s.stored}})
}

// leave deletes the preview if something was sent behind it, even if nothing else is sent early any more: the answer must not take
// its place.
func (s *Stream) leave(ctx context.Context) {
	if s.behind.Swap(false) && s.preview != 0 {
		s.post(ctx, early{Early: s.early(nil)})
	}
}

// display returns what to show now: the current text, or the reasoning before there is one, then what the agent plans to do and the
// running tools. It is empty if there is nothing, or if it does not fit.
func (s *Stream) display(p agent.Progress, now time.Time) string {
	if s.options.Listens && !s.spoke(p) {
		return ""
	}
	var parts []string
	fits := func(more string) bool {
		return chunk.Rule{Limit: s.options.Rule.Limit}.Fits(strings.Join(append(parts, more), "\n\n"))
	}
	if text := s.growing(); text != "" {
		if !fits(text) {
			return ""
		}
		parts = append(parts, text)
	} else if s.options.Reasoning && p.Thinking != "" {
		if thought := quoted(p.Thinking); fits(thought) {
			parts = append(parts, thought)
		}
	}
	if todos := wording.Todos(p.Todos); todos != "" && fits(todos) {
		parts = append(parts, todos)
	}
	if tools := s.atWork(p, now); tools != "" && fits(tools) {
		parts = append(parts, tools)
	}
	return strings.Join(parts, "\n\n")
}

// spoke reports whether the turn has produced a first word for the chat.
func (s *Stream) spoke(p agent.Progress) bool {
	return s.begun || s.making.Text != "" ||
		slices.ContainsFunc(p.Done, func(step agent.Step) bool { return textOf(step).Text != "" })
}

// growing returns the part of the current text that is not in the chat yet.
func (s *Stream) growing() string {
	a, was := s.making, s.texts
	if a.Text == "" || !was.follow(a, false) {
		return ""
	}
	text := chunk.Closed(chunk.Rest(a.Text, len(was.said)))
	if text == "" {
		return ""
	}
	s.cutter.heads = nil
	if was.restarted {
		s.cutter.heads = []string{wording.AnswerRestarted}
	}
	return s.cutter.head(text)
}

// quoted returns the end of the reasoning as a quotation.
func quoted(thought string) string {
	if over := len(thought) - maxThought; over > 0 {
		thought = "…" + strings.ToValidUTF8(thought[over:], "")
	}
	return "> " + strings.ReplaceAll(strings.TrimSpace(thought), "\n", "\n> ")
}

// asking are the tools of Claude Code that are themselves questions.
var asking = map[string]bool{"AskUserQuestion": true, "ExitPlanMode": true}

// active returns the running tools: without those that ask people, and none while people are asked.
func (s *Stream) active(p agent.Progress) []agent.ToolUse {
	if s.paused.Load() > 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.Running), func(tool agent.ToolUse) bool { return asking[tool.Name] })
}

// work records since when tools run, and returns when their display changes.
func (s *Stream) work(p agent.Progress, now time.Time) (next time.Time) {
	before := s.running
	s.running = map[agent.ToolUse]time.Time{}
	for _, tool := range s.active(p) {
		since, known := before[tool]
		if !known {
			since = now
		}
		s.running[tool] = since
		due := since.Add(toolGrace)
		if !now.Before(due) {
			due = since.Add((now.Sub(since)/tick + 1) * tick)
		}
		next = soonest(next, due)
	}
	return next
}

// atWork returns a line for each tool that has been running for a while.
func (s *Stream) atWork(p agent.Progress, now time.Time) string {
	var lines []string
	active := slices.DeleteFunc(s.active(p), func(tool agent.ToolUse) bool { return now.Sub(s.running[tool]) < toolGrace })
	for _, tool := range active {
		if len(lines) == maxRunning {
			lines = append(lines, fmt.Sprintf("🔧 … and %d more", len(active)-maxRunning))
			break
		}
		line := "🔧 " + tool.Name
		if tool.Summary != "" {
			line += ": `" + strings.ReplaceAll(tool.Summary, "`", "'") + "`"
		}
		lines = append(lines, line+elapsed(now.Sub(s.running[tool])))
	}
	return strings.Join(lines, "\n")
}

// elapsed tells how long a tool has been at work, if it has for long.
func elapsed(d time.Duration) string {
	switch {
	case d < tick:
		return ""
	case d < time.Minute:
		return fmt.Sprintf(" (%d s)", d.Truncate(tick)/time.Second)
	default:
		return fmt.Sprintf(" (%d min)", int(math.Floor(d.Minutes())))
	}
}
