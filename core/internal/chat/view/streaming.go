package view

import (
	"slices"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/core/internal/text/chunk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// streaming returns how the turn is streamed.
func (v *View) streaming() stream.Options {
	vs, run := v.views, v.run
	m := run.Head.Message
	settings, limits := run.Settings.Reply, run.Limits
	by := speaker{Model: run.Model, Effort: run.Effort, Name: run.Agent.Name, Channel: m.Channel}
	o := stream.Options{
		To: m.Address(), Rule: run.Rule(), Block: block(settings.Block),
		Interval: limits.Edit.MinInterval, Prefix: prefix(settings.Prefix, by), NotifyAfter: settings.NotifyAfter, Began: run.StartedAt,
	}
	o.Quoting = v.quoting()
	if m.Silent || m.Origin == domain.OriginFlush || m.Origin == domain.OriginHeartbeat ||
		m.Origin == domain.OriginCompact || run.Visible == "tool" {
		return o
	}
	if live, ok := vs.options.Plugins.Get(m.Channel); ok {
		draft, undrafted := limits.Draft, limits.Draft
		if draft == chat.NativeDraft {
			undrafted = chat.NoDraft
			if live.Can(remote.Edit) {
				undrafted = chat.DraftByEdit
			}
		}
		if !vs.drafts.taken(live, place{m.Channel, m.Chat.Kind}) {
			draft = undrafted
		}
		o.Mode, o.Undrafted = stream.Choose(settings.Stream, draft), stream.Choose(settings.Stream, undrafted)
	}
	o.Steps = settings.BetweenTools == "keep"
	o.Verbose, o.Files = run.Verbose, len(limits.MediaOut) > 0
	o.Delay = stream.Delay{Min: settings.HumanDelay.Min, Max: settings.HumanDelay.Max}
	o.Reasoning, o.Listens = run.Reasoning == "stream", run.Listening
	o.Stop = v.stop()
	return o
}

// quoting is how the turn's messages reply to others.
func (v *View) quoting() answer.Quoting {
	if !v.run.Limits.Replies {
		return answer.Quoting{}
	}
	return answer.Quoting{Mode: v.run.Settings.Reply.ReplyTo, Current: Answered(v.run), Known: v}
}

// stop is the button of the preview; nil: none. A person who may not use commands may not stop the turn.
func (v *View) stop() [][]chat.Button {
	if b := v.run.Limits.Buttons; b.Rows == 0 || b.Columns == 0 || v.run.Head.Message.Authority < chat.Authorised {
		return nil
	}
	return [][]chat.Button{{{Label: wording.StopLabel, Data: "/stop"}}}
}

// Answered is the message that a run's answer replies to: the last one that has an id of the network.
func Answered(run *conversation.Run) chat.MessageID {
	for _, m := range slices.Backward(run.More) {
		if m.Message.ID != "" {
			return m.Message.ID
		}
	}
	return run.Head.Message.ID
}

// block returns when the parts of an answer are sent.
func block(b config.Block) stream.Block {
	at := chunk.Paragraph
	switch b.BreakOn {
	case "newline":
		at = chunk.Line
	case "sentence":
		at = chunk.Sentence
	}
	return stream.Block{Min: b.Min, Max: b.Max, Idle: b.Idle, At: at, Whole: b.FlushAt == "message_end"}
}
