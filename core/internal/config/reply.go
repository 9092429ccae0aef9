package config

import (
	"strings"
	"time"
)

// Reply configures how answers are sent, and what is shown with them.
type Reply struct {
	Prefix         string        // put before each answer; may contain variables such as {model}
	TextLimit      int           // in the channel's unit; zero (default): the channel's limit
	MaxLines       int           // of a message, if it can be split; zero (default): no limit
	ChunkMode      string        // length (default), newline
	Stream         string        // how an answer is shown while it is written: off, block, preview (default)
	BetweenTools   string        // the texts before a tool, where they are not sent in blocks: drop (default), keep
	Block          Block         // of an answer that is sent in blocks
	HumanDelay     Delay         // between blocks
	Typing         string        // never, instant, thinking (default), message
	TypingInterval time.Duration // default 6 seconds
	ReplyTo        string        // which parts are replies to the message: off (default), first, all
	AckReaction    string        // an emoji on an accepted message, or [AckStatus]; empty (default): none
	NotifyAfter    time.Duration // an answer that took longer is a new message, which notifies; default 30 seconds; zero: never
	Silent         string        // where the model may answer NO_REPLY: never, groups (default)
	Visible        string        // what is sent: answer (default), or tool: only what the agent sends by the tool "message"
	Verbose        string        // the tools in use: off (default), on, full
	Reasoning      string        // the model's reasoning: off (default), on, stream
	Usage          string        // the cost of an answer: off (default), tokens, full
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
			{"visible", oneOf(&r.Visible, "answer", "tool")},
			{"verbose", oneOf(&r.Verbose, "off", "on", "full")},
			{"reasoning", oneOf(&r.Reasoning, "off", "on", "stream")},
			{"usage", oneOf(&r.Usage, "off", "tokens", "full")},
		},
		blocks: []child{one(r.Block.block())},
	}
}

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
