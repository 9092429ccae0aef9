package envelope

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits, so that no part can displace the rest of the agent's context. Lists share a limit. Their sum is below maxPrompt,
// except for media, each of which has a line.
const (
	maxPrompt   = 1 << 20   // bytes in total
	maxBody     = 128 << 10 // bytes of a text
	maxBodies   = 320 << 10 // bytes of the texts of all messages
	maxContext  = 64 << 10  // bytes from a hook
	maxContexts = 128 << 10 // bytes from all hooks
	maxQuote    = 4 << 10   // bytes of a quoted text
	maxQuotes   = 64 << 10  // bytes of the quotes of all messages
	maxSpoken   = 16 << 10  // bytes of a transcript
	maxSpokens  = 96 << 10  // bytes of the transcripts of all messages
	maxPage     = 8 << 10   // bytes of a page
	maxPages    = 96 << 10  // bytes of the pages of all messages
	maxBeside   = 64 << 10  // bytes of a text beside a message
	maxBesides  = 96 << 10  // bytes of the texts beside all messages
	maxAddress  = 300       // characters of a page's address
	maxEntry    = 2 << 10   // bytes of a text of the history
	maxHistory  = 128 << 10 // bytes of the history
	maxLines    = 50        // events, hints, dropped messages and metadata, the newest of each
	maxNote     = 500       // characters of an event, a hint or of metadata
	maxSummary  = 160       // characters of a dropped message
	maxPart     = 64        // characters of a name or title
	maxPath     = 4096      // bytes of a path
)

// shares are the limits for each of a turn's messages.
type shares struct{ text, quote, transcript, page, beside int }

// share returns the limit of one of n texts, each with a limit of its own and all with a common one.
func share(each, all, n int) int {
	const least = 1 << 10 // a minimum of each
	return min(each, max(all/max(n, 1), least))
}

// newest returns the newest lines of a list, up to the limit.
func newest[T any](list []T) []T { return list[max(0, len(list)-maxLines):] }

// cut truncates a text that is too long, and says so on a separate line.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s\n%s this is the first %d KiB of %d KiB]", text[:end], cutMark, limit>>10, (len(text)+1023)>>10)
}

// line returns a text on one line of at most limit characters.
func line(text string, limit int) string {
	return untagged(ellipsis(strings.Join(strings.Fields(plain(text)), " "), limit))
}

// ellipsis truncates a line to limit characters, with an ellipsis.
func ellipsis(s string, limit int) string {
	count := 0
	end := 0 // of the part before an ellipsis
	for i := range s {
		if count == limit-1 {
			end = i
		}
		if count++; count > limit {
			return strings.TrimRight(s[:end], " ") + "…"
		}
	}
	return s
}

// Name returns a name that people have chosen as it stands in the host's lines.
func Name(s string) string { return part(s) }

// part sanitizes a name for the host's line: on one line, without brackets, of limited length.
func part(s string) string {
	visible := strings.Map(func(r rune) rune {
		switch folded := bracket(r); {
		case folded == '[':
			return '('
		case folded == ']':
			return ')'
		case unicode.IsSpace(r), unicode.IsControl(r), r == utf8.RuneError:
			return ' '
		case unicode.Is(unicode.Cf, r):
			return -1
		default:
			return r
		}
	}, s)
	return untagged(ellipsis(strings.Join(strings.Fields(visible), " "), maxPart))
}

// join joins the parts that are not empty on one line.
func join(parts ...string) string { return joined(" ", parts) }

// paragraphs joins the blocks that are not empty with blank lines.
func paragraphs(blocks []string) string { return joined("\n\n", blocks) }

func joined(separator string, parts []string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, separator)
}

// block puts a text between two marks.
func block(open, text, closing string) string {
	return joined("\n", []string{open, text, closing})
}

// label returns a channel's name as people write it.
func label(channel string) string {
	switch channel {
	case "telegram":
		return "Telegram"
	case "whatsapp":
		return "WhatsApp"
	case "discord":
		return "Discord"
	case "webchat":
		return "Web chat"
	default:
		return part(channel)
	}
}

// stamp formats a time for the host's lines; empty for the zero time.
func stamp(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return t.In(zone).Format("Mon 2006-01-02 15:04 MST")
}

// minute formats a time without the day of the week; empty for the zero time.
func minute(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return t.In(zone).Format("2006-01-02 15:04 MST")
}

// short formats a duration in its largest whole unit, such as "5m".
func short(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/day)
	}
}

// size formats a number of bytes, such as "120 KB".
func size(bytes int64) string {
	switch {
	case bytes < 1000:
		return fmt.Sprintf("%d B", bytes)
	case bytes < 1000*1000:
		return fmt.Sprintf("%d KB", bytes/1000)
	default:
		return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
	}
}
