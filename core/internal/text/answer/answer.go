// Package answer separates the parts of the model's text that are for the chat from instructions to the host.
//
// Markers are instructions to the host. They are removed everywhere except in fenced blocks and inline code, where they are
// ordinary text:
//
//   - NO_REPLY (or HEARTBEAT_OK) alone on a first or last line, or as a sentence of its own at the end: say nothing. A short
//     line with it is dropped too, as in "Nothing to add. NO_REPLY"; what is more than that is said without the token. A
//     remark behind it, as in "NO_REPLY - not for me", is not sent if there is nothing else;
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

// SilentToken is the model's answer for saying nothing.
const SilentToken = "NO_REPLY"

// HeartbeatToken is used by models trained on other hosts instead of [SilentToken] in heartbeats.
const HeartbeatToken = "HEARTBEAT_OK"

// MaxRemark is the maximum length, in characters, of a line that is dropped together with a token.
const MaxRemark = 300

// MaxMedia limits the files of an answer. Further ones are dropped.
const MaxMedia = 20

// Answer is a parsed text.
type Answer struct {
	// Text is the visible text: valid UTF-8 with "\n" line breaks, without trailing blanks and leading blank lines.
	Text string
	// Silent is set if the text is empty because the model chose so, perhaps with a short remark. Media is sent all the same.
	Silent bool
	// Replies are the messages that the text replies to, each from a position on, in order; the first from the beginning.
	Replies []Reply
	Media   []Media // in order
	Aloud   bool    // whether the answer is to be spoken
	Spoken  string  // what is to be spoken instead of Text; empty: Text
	Voice   bool    // whether audio is sent as a voice message
}

// Current is the To of a [Reply] to the turn's message.
const Current = "current"

// Reply is a message that a part of the text replies to: [Current], or the network's id of another one, as written by the
// model.
type Reply struct {
	At int // the start of the part, in bytes
	To string
}

// Media is a file to send, as named by the model.
type Media struct {
	At   int // the end of the text before it
	Path string
}

// ReplyAt returns the To for a position in the text; empty for no message in particular.
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

// NextStop returns where a piece that begins at a position must end at the latest, because the next part replies to another
// message or a file is sent there: a later position, at most the text's end.
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

// Parse parses a text. The running time is linear in its length. If the text is not final, a possible marker at its end is
// held back, so that the visible text of a prefix is a prefix of the whole visible text, unless that is silent.
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
	if final && (p.silent || p.declined) {
		if len(p.answer.Media) == 0 && short(p.answer.Text) {
			p.answer.Text = ""
		}
		p.answer.Silent = p.answer.Text == ""
	}
	p.answer.Spoken = strings.TrimSpace(p.spoken.String())
	return p.answer
}

// short reports whether a text is dropped together with a token.
func short(text string) bool {
	return !strings.Contains(text, "\n") && utf8.RuneCountInString(text) <= MaxRemark
}

// whole returns a text without an incomplete character at its end.
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

// parser parses a text line by line.
type parser struct {
	final  bool
	answer Answer
	text   strings.Builder
	spoken strings.Builder
	// pending is inserted before further text: blanks, and last lines that are tokens, without the break before the next
	// line.
	pending  []byte
	remark   string // a first line of a token and a remark: text only if more follows
	dropped  bool   // the previous line was removed
	silent   bool   // a first line was a token
	declined bool   // so far the text ends with a token
	held     bool   // the rest is held back
	fence    fence
}

// line handles a line, which may continue if it is not complete.
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
	case p.text.Len() == 0 && p.remark == "" && isRemark(line):
		p.silent, p.dropped, p.remark = true, false, strings.TrimSpace(line)
	case isMedia:
		if len(p.answer.Media) < MaxMedia {
			p.answer.Media = append(p.answer.Media, Media{At: p.text.Len(), Path: path})
		}
		p.dropped = true
	case hostLine().MatchString(line), len(marks) > 0 && strings.TrimSpace(line) == "":
		p.dropped = true
	default:
		visible, held := cutToken(line, complete)
		p.held = p.held || held
		p.emit(visible)
		p.pending = append(p.pending, line[len(visible):]...)
		p.declined = p.declined || visible != line
	}
}

// emit appends a line to the text. Its trailing blanks become pending.
func (p *parser) emit(line string) {
	visible := strings.TrimRightFunc(line, unicode.IsSpace)
	dropped := p.dropped
	p.dropped = false
	switch {
	case visible == "" && p.text.Len() == 0:
	case visible == "" && dropped && bytes.HasSuffix(p.pending, []byte{'\n'}):
		// The removed line was between two blank ones.
	case visible == "":
		p.pend(line)
	default:
		p.text.WriteString(p.remark)
		p.remark, p.declined = "", false
		if p.text.Len() > 0 {
			p.pending = append(p.pending, '\n')
		}
		p.text.Write(p.pending)
		p.text.WriteString(visible)
		p.pending = append(p.pending[:0], line[len(visible):]...)
	}
}

// token handles a line with only a token. After some text it is ordinary text only if more text follows.
func (p *parser) token(line string) {
	p.dropped = false
	if p.text.Len() == 0 {
		p.silent = true
		return
	}
	p.declined = true
	p.pend(line)
}

// pend adds a line to pending.
func (p *parser) pend(line string) {
	p.pending = append(append(p.pending, '\n'), line...)
}

// mark applies a tag.
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
		if t.value != "text" { // otherwise the spoken part of the answer follows the tag
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
