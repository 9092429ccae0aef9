package view

import (
	"slices"

	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/core/internal/chunk"
	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/remote"
	"github.com/clawhost/clawhost/core/internal/reply"
	"github.com/clawhost/clawhost/core/internal/stream"
	"github.com/clawhost/clawhost/core/internal/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// streaming returns how a run's turn is streamed.
func (vs *Views) streaming(run *conversation.Turn) stream.Options {
	m := run.Head.Message
	settings, limits := run.Settings.Reply, run.Limits
	speaker := reply.Speaker{Model: run.Model, Effort: run.Effort, Name: run.Agent, Channel: m.Channel}
	o := stream.Options{
		To: m.Address(), Rule: run.Rule(), Block: block(settings.Block),
		Interval: limits.Edit.MinInterval, Prefix: reply.Prefix(settings.Prefix, speaker), Said: run.Said, PreviewID: run.Preview,
	}
	if limits.Replies {
		o.Quoting = answer.Quoting{Mode: settings.ReplyTo, Current: answered(run)}
	}
	if m.Silent || m.Origin == domain.OriginFlush || m.Origin == domain.OriginHeartbeat || m.Origin == domain.OriginCompact || run.Visible == "tool" {
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
	if limits.Buttons.Rows > 0 && limits.Buttons.Columns > 0 && m.Authority >= chat.Authorised { // a person who may not use commands may not stop the turn
		o.Stop = [][]chat.Button{{{Label: wording.StopLabel, Data: "/stop"}}}
	}
	return o
}

// answered is the message that a run's answer replies to: the last one that has an id of the network.
func answered(run *conversation.Turn) chat.MessageID {
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
