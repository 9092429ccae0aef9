package wording

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// maxCode bounds inline code, in characters.
const maxCode = 128

// Code returns s as inline code, on one line and of bounded length: it may come from a network.
func Code(s string) string { return Verbatim(OneLine(s, maxCode)) }

// Verbatim returns a line as inline code, as it is, with more backticks around it than stand in it in a row: two texts that differ
// do not look the same.
func Verbatim(s string) string {
	marks := fence(s, 1)
	spaced := strings.HasPrefix(s, " ") && strings.HasSuffix(s, " ") && strings.Trim(s, " ") != "" // Markdown drops one of each
	if len(marks) > 1 || spaced {
		return marks + " " + s + " " + marks
	}
	return marks + s + marks
}

// fence returns more backticks than the text contains in a row, and at least so many.
func fence(text string, least int) string {
	marks := strings.Repeat("`", least)
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return marks
}

// maxIdentity is the maximum length of a shown ID, in characters. No network has longer ones.
const maxIdentity = 512

// identity returns the ID of a person about whom an owner decides, as inline code.
func identity(id string) string {
	return Verbatim(cut(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return hidden
		}
		return r
	}, Visible(id)), maxIdentity))
}

// hidden is shown in place of an invisible character.
const hidden = '\uFFFD'

const (
	joiner     = '\u200d' // combines two emoji into one
	emojiStyle = '\ufe0f' // behind a symbol
	keycap     = '\u20e3' // behind emojiStyle
)

// blanks are letters and symbols without a visible form that no table of Unicode lists as such.
var blanks = map[rune]bool{'\u2800': true, '\U00016fe4': true, '\U0001d159': true}

// Visible replaces each character that could hide or reorder text by a sign. Line breaks and tabs stay, and what makes emoji of
// symbols.
func Visible(text string) string {
	runes := []rune(strings.ToValidUTF8(text, string(hidden)))
	at := func(i int) rune {
		if i < 0 || i >= len(runes) {
			return hidden
		}
		return runes[i]
	}
	for i, r := range runes {
		before, after := at(i-1), at(i+1)
		switch {
		case r == '\n' || r == '\t':
		case r == joiner && (before == emojiStyle || symbol(before)) && symbol(after):
		case r == emojiStyle && (after == keycap || symbol(before)):
		case !unicode.IsGraphic(r) || blanks[r] || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			runes[i] = hidden
		}
	}
	return string(runes)
}

// symbol reports whether a character is one of those of which emoji are made.
func symbol(r rune) bool {
	const lightest, darkest = '\U0001f3fb', '\U0001f3ff' // skin
	return r != hidden && !blanks[r] && unicode.Is(unicode.So, r) || r >= lightest && r <= darkest
}

// OneLine returns a text on one line, cut to so many characters.
func OneLine(s string, most int) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

// ModelName is a model as people read it.
func ModelName(name string) string { return or(OneLine(name, 120), ClaudesChoice) }

// or is a text, or another one where it is empty.
func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// plural is a count of things.
func plural[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// age rounds a duration to what a person would say.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return max(d, 0).Round(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
}

// count shortens a large number.
func count(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	default:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	}
}

// size is a number of bytes.
func size(n int) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f kB", float64(n)/1e3)
}

func mebibytes(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// cut shortens a text to so many characters.
func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// Escape keeps a text from being Markdown.
func Escape(s string) string {
	lines := strings.Split(strings.NewReplacer(
		`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "<", `\<`, "#", `\#`, "~", `\~`, "&", `\&`, "|", `\|`,
	).Replace(s), "\n")
	for i, line := range lines {
		// What makes a list, a quote, a heading or a rule of a line that begins with it.
		if at := len(line) - len(strings.TrimLeft(line, "0123456789")); at < len(line) && strings.ContainsRune(".)>+=-", rune(line[at])) {
			lines[i] = line[:at] + `\` + line[at:]
		}
	}
	return strings.Join(lines, "\n")
}

// Fenced shows a text as code, in a fence that it does not close.
func Fenced(text string) string {
	marks := fence(text, 3)
	return marks + "\n" + text + "\n" + marks
}

// block returns a text of several lines as a block of code, bounded.
func block(s string) string {
	const most = 1500
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return Fenced(s)
}

// compacted says how often a conversation was compacted.
func compacted(n int64) string {
	switch n {
	case 0:
		return "never compacted"
	case 1:
		return "compacted once"
	default:
		return fmt.Sprintf("compacted %d times", n)
	}
}

// filled says how full a session's context is.
func filled(s domain.Session) string {
	text := "context " + count(s.ContextTokens)
	if s.ContextWindow > 0 {
		text += fmt.Sprintf(" of %s tokens (%d%%)", count(s.ContextWindow), s.ContextTokens*100/s.ContextWindow)
	} else {
		text += " tokens"
	}
	return fmt.Sprintf("%s, %s", text, compacted(s.Compactions))
}

// ofTurns says what turns cost, of which only the sums are known.
func ofTurns(s domain.Spending) string {
	return fmt.Sprintf("%s, %s tokens, $%.4f", plural(s.Turns, "turn"), count(s.Tokens), float64(s.CostMicros)/1e6)
}

// spent says what turns cost.
func spent(u domain.Usage) string {
	return fmt.Sprintf("%s, %s tokens in, %s out, $%.4f", plural(u.Turns, "turn"), count(u.InputTokens+u.CacheTokens),
		count(u.OutputTokens), float64(u.CostMicros)/1e6)
}
