// Package answer tells what of a text that the model wrote is meant for the chat, and what for the host.
//
// Markers are instructions to the host. They are taken out wherever they stand but in fenced blocks and inline code, where
// they are text like any other:
//
//   - NO_REPLY (or HEARTBEAT_OK) alone on a first or last line: say nothing, or nothing but what stands beside it;
//   - MEDIA:path on a line of its own: send the file;
//   - [[reply_to_current]] and [[reply_to:id]]: answer the current message, or that one;
//   - [[tts]] and [[tts:text]]: say the answer, or the text, aloud; [[audio_as_voice]]: send sound as a voice message;
//   - lines that the host puts into prompts and that the model may imitate, such as [from: …].
package answer

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SilentToken is what the model answers to say nothing.
const SilentToken = "NO_REPLY"

// HeartbeatToken is what models that were trained on other hosts answer to a heartbeat in place of [SilentToken].
const HeartbeatToken = "HEARTBEAT_OK"

// MaxMedia is how many files one answer may send. Further ones are dropped.
const MaxMedia = 20

// Answer is what a text comes to.
type Answer struct {
	// Text is what the chat sees: valid UTF-8 with "\n" as its line break, without blanks at its end and blank lines at its
	// beginning.
	Text string
	// Silent says that the text is empty because the model chose so. Media is sent all the same.
	Silent bool
	// Replies are the messages that the text answers, each from a place on, in order; the first from the beginning.
	Replies []Reply
	Media   []Media // in order
	Aloud   bool    // the answer is to be said aloud
	Spoken  string  // what is to be said aloud in place of Text; empty: that
	Voice   bool    // sound is sent as a voice message
}

// Current is the To of a [Reply] that answers the message that the turn is about.
const Current = "current"

// Reply is a message that a part of the text answers: [Current], or the network's id of another one, as the model wrote it.
type Reply struct {
	At int // the part begins here, in bytes of the text
	To string
}

// Media is a file that is sent, as the model named it.
type Media struct {
	At   int // the text before it ends here
	Path string
}

// ReplyAt returns the To of the part of the text that a place is in; empty where it answers no message in particular.
func (a Answer) ReplyAt(at int) string {
	to := ""
	for _, r := range a.Replies {
		if r.At > at {
			break
		}
		to = r.To
	}
	return to
}

// NextStop returns where a piece of the text that begins at a place must end at the latest, as another message is answered
// from there on, or a file is sent: a place behind it, at most the text's end.
func (a Answer) NextStop(at int) int {
	stop := len(a.Text)
	for _, r := range a.Replies {
		if r.At > at {
			stop = min(stop, r.At)
		}
	}
	for _, m := range a.Media {
		if m.At > at {
			stop = min(stop, m.At)
		}
	}
	return stop
}

// Parse takes a text apart. Its work grows with the length of the text, whatever is in it. One that is not final may go on: what may yet turn out to be a marker is held back, so that the
// visible text of any beginning of a text is a beginning of the whole one's.
func Parse(text string, final bool) Answer {
	p := parser{final: final}
	if !final {
		text = whole(text)
	}
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	for rest := text; rest != "" && !p.held; {
		line, behind, broken := strings.Cut(rest, "\n")
		p.line(strings.TrimSuffix(line, "\r"), broken || final)
		rest = behind
	}
	p.answer.Text = p.text.String()
	p.answer.Silent = final && p.silent && p.answer.Text == ""
	p.answer.Spoken = strings.TrimSpace(p.spoken.String())
	return p.answer
}

// whole returns a text without the beginning of a character at its end.
func whole(text string) string {
	for text != "" {
		r, width := utf8.DecodeLastRuneInString(text)
		if r != utf8.RuneError || width > 1 {
			return text
		}
		text = text[:len(text)-width]
	}
	return text
}

// parser takes a text apart line by line.
type parser struct {
	final  bool
	answer Answer
	text   strings.Builder
	spoken strings.Builder
	// pending is what the text goes on with if it goes on: blanks, and last lines that are tokens, but for the break before
	// the next line.
	pending []byte
	dropped bool // the line before was taken out
	silent  bool // a first line was a token
	held    bool // what follows is held back
	fence   fence
}

// line takes a line, which may go on if it is not complete.
func (p *parser) line(line string, complete bool) {
	if p.fence.run != "" {
		if complete && p.fence.closes(line) {
			p.fence = fence{}
		}
		p.emit(line)
		return
	}
	line, marks, held := cutTags(line, complete)
	switch {
	case held:
		p.held = true
	case !complete:
		p.held = mayBecome(line)
	}
	if p.held && mayBecome(line) {
		return
	}
	for _, m := range marks {
		p.mark(m)
	}
	path, isMedia := media(line)
	switch {
	case opens(line).run != "":
		p.fence = opens(line)
		p.emit(line)
	case isToken(line):
		p.token(line)
	case isMedia:
		if len(p.answer.Media) < MaxMedia {
			p.answer.Media = append(p.answer.Media, Media{At: p.text.Len(), Path: path})
		}
		p.dropped = true
	case hostLine.MatchString(line), len(marks) > 0 && strings.TrimSpace(line) == "":
		p.dropped = true
	default:
		p.emit(line)
	}
}

// emit appends a line to the text. Its blanks at the end wait for what comes behind them.
func (p *parser) emit(line string) {
	visible := strings.TrimRightFunc(line, unicode.IsSpace)
	dropped := p.dropped
	p.dropped = false
	switch {
	case visible == "" && p.text.Len() == 0:
	case visible == "" && dropped && bytes.HasSuffix(p.pending, []byte{'\n'}):
		// The taken out line stood between two blank ones.
	case visible == "":
		p.pend(line)
	default:
		if p.text.Len() > 0 {
			p.pending = append(p.pending, '\n')
		}
		p.text.Write(p.pending)
		p.text.WriteString(visible)
		p.pending = append(p.pending[:0], line[len(visible):]...)
	}
}

// token takes a line that holds a token alone. Behind the text it is text only if more text follows.
func (p *parser) token(line string) {
	p.dropped = false
	if p.text.Len() == 0 {
		p.silent = true
		return
	}
	p.pend(line)
}

// pend keeps a line that the text goes on with if it goes on.
func (p *parser) pend(line string) {
	p.pending = append(append(p.pending, '\n'), line...)
}

// mark takes what a tag says.
func (p *parser) mark(t tag) {
	switch t.name {
	case "reply_to_current":
		p.replyTo(Current)
	case "reply_to":
		if id := strings.TrimSpace(t.value); id != "" && len(id) <= maxID {
			p.replyTo(id)
		}
	case "tts":
		p.answer.Aloud = true
		if t.value != "text" { // It is a part of the answer that is to be said aloud, which stands behind the tag.
			p.spoken.WriteString(t.value + " ")
		}
	case "audio_as_voice":
		p.answer.Voice = true
	}
}

func (p *parser) replyTo(to string) {
	list := p.answer.Replies
	switch at := p.text.Len(); {
	case len(list) == 0:
		p.answer.Replies = []Reply{{To: to}}
	case list[len(list)-1].To == to:
	case list[len(list)-1].At == at:
		list[len(list)-1].To = to
	default:
		p.answer.Replies = append(list, Reply{At: at, To: to})
	}
}
