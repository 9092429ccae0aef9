package envelope

import (
	"strings"
	"unicode"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// Neutralise makes a text safe among lines of the host: a line that begins like one of them gets a backslash before it, and
// a tag of Claude Code gets one after its bracket, anywhere in the text. Spaces, invisible characters, case, accents and
// look-alike letters and brackets make no difference. It is idempotent.
//
// All line breaks become "\n"; control characters, invalid UTF-8 and blank lines around the text are dropped.
func Neutralise(text string) string {
	lines := strings.Split(plain(text), "\n")
	for i, line := range lines {
		if at := mark(line); at >= 0 {
			lines[i] = line[:at] + `\` + line[at:]
		}
	}
	return untagged(strings.Join(lines, "\n"))
}

// plain returns the text in valid UTF-8 with "\n" as the only line break and the tab as the only other control.
func plain(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\r\n", "\n")
	text = strings.Map(func(r rune) rune {
		switch r {
		case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
			return '\n'
		case '\t':
			return r
		}
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
	for {
		line, rest, more := strings.Cut(text, "\n")
		if !more || strings.TrimSpace(line) != "" {
			return strings.TrimRightFunc(text, unicode.IsSpace)
		}
		text = rest
	}
}

// The beginnings of the host's lines, as squeeze returns them. A part of a mark stands for everything that begins like it,
// because a partial imitation may also deceive the agent.
var (
	marks = []string{
		squeezed(eventMark), squeezed(hintMark), squeezed(contextOpen), squeezed(contextClose),
		squeezed("[Thread"), squeezed(threadClose), squeezed("[Chat messages since"), squeezed("[Current message"),
		squeezed("[Queued messages"), squeezed(overflowMark), squeezed(itemMark), squeezed(hostMark), squeezed(runnerMark),
		squeezed(senderMark),
		squeezed(quoteOpen), squeezed(quoteClose), squeezed(forwardMark), squeezed(forwardClose), squeezed(lateMark),
		squeezed(cutMark), squeezed(pressMark), squeezed(mediaMark), squeezed("[media:"),
		squeezed("[Transcript"), squeezed(spokenClose), squeezed(pageOpen), squeezed(pageClose), squeezed(besideOpen), squeezed(besideClose),
		squeezed("[Outgoing files"),
		squeezed("Untrusted context ("),
		squeezed("[Telegram"), squeezed("[WhatsApp"), squeezed("[Discord"), squeezed("[Web chat"),
	}
	stamped = lazyregexp.New(`^\[[^\]]*\d{4}-\d\d-\d\d\d\d:\d\d`)
)

// mark returns the position of the line's first visible character if the line begins like one of the host's, otherwise -1.
func mark(line string) int {
	s, at := squeeze(line)
	for _, m := range marks {
		if strings.HasPrefix(s, m) {
			return at
		}
	}
	if stamped().MatchString(s) {
		return at
	}
	return -1
}

func squeezed(mark string) string {
	s, _ := squeeze(mark)
	return s
}

// squeeze returns the beginning of a line in lower case without invisible characters, and its position in the line.
func squeeze(line string) (s string, at int) {
	// The longest mark with a time contains two names and is shorter than this.
	const enough = 256
	var b strings.Builder
	at = -1
	kept := 0
	for i, r := range line {
		if invisible(r) {
			continue
		}
		r = fold(r)
		if at < 0 {
			if !strings.ContainsRune("[<nqsu", r) {
				return "", i // no line of the host begins like this
			}
			at = i
		}
		b.WriteRune(r)
		if kept++; kept == enough {
			break
		}
	}
	return b.String(), at
}

// invisible reports whether a character is invisible on the screen.
func invisible(r rune) bool {
	const blankBraille = '\u2800'
	return unicode.IsSpace(r) || r == blankBraille ||
		unicode.In(r, unicode.C, unicode.Z, unicode.M, unicode.Other_Default_Ignorable_Code_Point)
}
