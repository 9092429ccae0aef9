package command

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// code returns s as inline code, on one line and of bounded length: it may come from a network.
func code(s string) string {
	return "`" + strings.ReplaceAll(oneLine(s, 128), "`", "'") + "`"
}

// oneLine returns a text on one line, cut to so many characters.
func oneLine(s string, most int) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

// firstWord is what stands before the first blank.
func firstWord(s string) string {
	if words := strings.Fields(s); len(words) > 0 {
		return words[0]
	}
	return ""
}

// or is a text, or another one where it is empty.
func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// compacted says how often a conversation was.
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

// block returns a text of several lines as a block of code, bounded.
func block(s string) string {
	const most = 1500
	s = strings.ReplaceAll(s, "```", "'''")
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return "```\n" + s + "\n```"
}
