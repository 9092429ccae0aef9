package permission

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// what names the thing that was asked about, once it is over.
func (b body) what() string {
	switch {
	case b.About == aboutPlan:
		return "Claude's plan"
	case b.About == aboutChoice:
		return escape(cut(b.Line, maxAsked))
	case b.Line != "":
		return escape(b.Tool) + " " + code(b.Line)
	default:
		return escape(b.Tool)
	}
}

func expired(patience time.Duration, b body) string {
	return fmt.Sprintf("⌛ Nobody answered within %s, so it counts as no: %s", span(patience), b.what())
}

func withdrawn(b body) string {
	return "This question is closed: " + b.what()
}

func late(b body) string {
	return "This answer came too late, Claude had gone on without it: " + b.what()
}

// lateWords is said of an answer that was a message of its own.
func lateWords(b body) string {
	return "This answer came too late, so Claude is told it as a message: " + b.what()
}

func span(d time.Duration) string {
	switch {
	case d%time.Hour == 0 && d > time.Hour:
		return fmt.Sprintf("%d hours", d/time.Hour)
	case d == time.Hour:
		return "an hour"
	case d%time.Minute == 0 && d > time.Minute:
		return fmt.Sprintf("%d minutes", d/time.Minute)
	default:
		return d.String()
	}
}

// joiner makes one emoji of several. It hides nothing.
const joiner = '\u200d'

// blanks are letters and symbols that show nothing.
var blanks = map[rune]bool{'\u034f': true, '\u115f': true, '\u1160': true, '\u17b4': true, '\u17b5': true, '\u2800': true, '\u3164': true, '\uffa0': true}

// oneLine puts a text on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(visible(text)), " ") }

// visible drops what could hide or turn around what is asked.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == joiner:
			return r
		case !unicode.IsGraphic(r) || blanks[r]:
			return '�'
		default:
			return r
		}
	}, strings.ToValidUTF8(text, "�"))
}

// cut shortens a text to so many characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// code shows a text as inline code, with more backticks around it than stand in it in a row.
func code(s string) string {
	marks := "`"
	for strings.Contains(s, marks) {
		marks += "`"
	}
	if len(marks) > 1 {
		return marks + " " + s + " " + marks
	}
	return marks + s + marks
}

// escape keeps a text from being Markdown.
var escape = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "<", `\<`, "#", `\#`).Replace

// fenced shows a text as code, in a fence that it does not close.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}
