package config

import (
	"strings"
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Reply configures how answers are sent, and what is shown with them.
type Reply struct {
	Prefix         string             // put before each answer; may contain variables such as {model}
	TextLimit      int                // in the channel's unit; zero (default): the channel's limit
	MaxLines       int                // of a message, if it can be split; zero (default): no limit
	ChunkMode      string             // length (default), newline
	Stream         string             // how an answer is shown while it is written: off, block, preview (default)
	BetweenTools   string             // the texts before a tool, where they are not sent in blocks: drop (default), keep
	Block          Block              // of an answer that is sent in blocks
	HumanDelay     Delay              // between blocks
	Typing         string             // never, instant, thinking (default), message
	TypingInterval time.Duration      // default 6 seconds
	ReplyTo        string             // which parts are replies to the message: off (default), first, all
	AckReaction    string             // an emoji on an accepted message, or [AckStatus]; empty (default): none
	NotifyAfter    time.Duration      // an answer that took longer is a new message, which notifies; default 30 seconds; zero: never
	Silent         string             // where the model may answer NO_REPLY: never, groups (default)
	Visible        string             // what is sent: answer (default), or tool: only what the agent sends by the tool "message"
	Verbose        string             // the tools in use: off (default), on, full
	Reasoning      string             // the model's reasoning: off (default), on, stream
	Usage          string             // the cost of an answer: off (default), tokens, full
	Changes        string             // how much a turn has changed in files: off, on (default)
	Chat           map[string]ReplyIn // what differs by the kind of chat: direct, group, channel
}

// ReplyIn has the settings that may differ in a kind of chat.
type ReplyIn struct {
	Silent  *bool   // whether the model may answer NO_REPLY; nil: by [Reply.Silent]
	Visible *string // nil: as in [Reply]
}

// kinds are the labels of the chat blocks.
var kinds = map[chat.Kind]string{chat.Direct: "direct", chat.Group: "group", chat.Broadcast: "channel"}

// MayBeSilent reports whether the model may answer NO_REPLY in a kind of chat.
func (r Reply) MayBeSilent(in chat.Kind) bool {
	if own := r.Chat[kinds[in]].Silent; own != nil {
		return *own
	}
	return r.Silent == "groups" && (in == chat.Group || in == chat.Broadcast)
}

// VisibleIn returns what is sent in a kind of chat; see [Reply.Visible].
func (r Reply) VisibleIn(in chat.Kind) string {
	if own := r.Chat[kinds[in]].Visible; own != nil {
		return *own
	}
	return r.Visible
}

// Block configures when a part of an unfinished answer is sent.
type Block struct {
	Min     int           // in the channel's unit; default 800
	Max     int           // not less than Min; default 1200
	Idle    time.Duration // send after this time without new text; default 1 second; zero: never
	BreakOn string        // paragraph (default), newline, sentence
	FlushAt string        // text_end (default), message_end
}

// Delay is a range of pauses; both zero: none.
type Delay struct{ Min, Max time.Duration }

// natural is the time that people take from one message to the next.
var natural = Delay{Min: 800 * time.Millisecond, Max: 2500 * time.Millisecond}

// maxDelay limits a pause, which delays later messages.
const maxDelay = time.Minute

// AckStatus is the AckReaction that shows the progress of a message's answer.
const AckStatus = "status"

// maxReaction exceeds the length of the longest emoji, in bytes.
const maxReaction = 64

func (r *Reply) block() block {
	return block{
		path: "reply",
		attrs: []attr{
			{"prefix", text(&r.Prefix)},
			{"text_limit", textLimit(&r.TextLimit)},
			{"max_lines", whole(&r.MaxLines, 0, 10_000)},
			{"chunk_mode", oneOf(&r.ChunkMode, "length", "newline")},
			{"stream", oneOf(&r.Stream, "off", "block", "preview")},
			{"between_tools", oneOf(&r.BetweenTools, "drop", "keep")},
			{"human_delay", delay(&r.HumanDelay)},
			{"typing", oneOf(&r.Typing, "never", "instant", "thinking", "message")},
			{"typing_interval", duration(&r.TypingInterval, time.Second)},
			{"reply_to", oneOf(&r.ReplyTo, "off", "first", "all")},
			{"ack_reaction", reaction(&r.AckReaction)},
			{"notify_after", duration(&r.NotifyAfter, 0)},
			{"silent", oneOf(&r.Silent, "never", "groups")},
			{"visible", oneOf(&r.Visible, visible...)},
			{"verbose", oneOf(&r.Verbose, "off", "on", "full")},
			{"reasoning", oneOf(&r.Reasoning, "off", "on", "stream")},
			{"usage", oneOf(&r.Usage, "off", "tokens", "full")},
			{"changes", oneOf(&r.Changes, "off", "on")},
		},
		blocks: []child{
			one(r.Block.block()),
			{name: "chat", labelled: true, labels: []string{"direct", "group", "channel"}, holds: r.chatBlock},
		},
	}
}

// chatBlock adds a kind of chat and returns its block.
func (r *Reply) chatBlock(kind string) block {
	return block{path: "reply.chat", attrs: entry(&r.Chat, kind, func(in *ReplyIn) []attr {
		return []attr{
			{"silent", own(&in.Silent, boolean)},
			{"visible", own(&in.Visible, func(s *string) setter { return oneOf(s, visible...) })},
		}
	})}
}

// visible are the values of [Reply.Visible].
var visible = []string{"answer", "tool"}

func (b *Block) block() block {
	return block{path: "reply.block", attrs: []attr{
		{"min", whole(&b.Min, 1, 1<<20)},
		{"max", blockLimit(&b.Max, &b.Min)}, // after min
		{"idle", duration(&b.Idle, 0)},
		{"break_on", oneOf(&b.BreakOn, "paragraph", "newline", "sentence")},
		{"flush_at", oneOf(&b.FlushAt, "text_end", "message_end")},
	}}
}

// minTextLimit leaves space for a reopened code fence and some text.
const minTextLimit = 64

func textLimit(to *int) setter {
	return func(v value) {
		n := 0
		whole(&n, 0, 1<<20)(v)
		if n > 0 && n < minTextLimit {
			v.refuse("must be 0 or at least %d", minTextLimit)
			return
		}
		*to = n
	}
}

// blockLimit stores the maximum of a block, whose minimum must have been read before.
func blockLimit(to, least *int) setter {
	return func(v value) {
		n := *to
		whole(&n, minTextLimit, 1<<20)(v)
		if n < *least {
			v.refuse("must be at least reply.block.min, which is %d", *least)
			return
		}
		*to = n
	}
}

// delay stores off, natural, or a range.
func delay(to *Delay) setter {
	return func(v value) {
		s, ok := v.text()
		if !ok {
			return
		}
		switch s {
		case "off":
			*to = Delay{}
			return
		case "natural":
			*to = natural
			return
		}
		from, until, _ := strings.Cut(s, "-")
		least, wrong := parseDuration(from, 0)
		most, alsoWrong := parseDuration(until, 0)
		if wrong != "" || alsoWrong != "" || least > most || most > maxDelay {
			v.refuse(`must be "off", "natural", or two durations up to a minute, such as "800ms-2500ms"`)
			return
		}
		*to = Delay{Min: least, Max: most}
	}
}

// reaction stores an emoji, or none.
func reaction(to *string) setter {
	return func(v value) {
		s, ok := v.text()
		if !ok {
			return
		}
		if len(s) > maxReaction || strings.ContainsAny(s, " \t\n") {
			v.refuse("must be one emoji")
			return
		}
		*to = s
	}
}
