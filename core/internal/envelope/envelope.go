// Package envelope writes what the agent reads of a message: the text, after a line of the host that says where, from
// whom and when it comes.
//
//	[Telegram John +5m Fri 2024-03-15 14:30 EST] text
//
// In a group the line names the group and the text begins with the sender's name. What else belongs to the message
// follows the text, each on a line or in a block of the host's.
//
// Chat text is not inert: the claude CLI takes a prompt that begins with "/" for a command, and the agent trusts the
// host's marks. So every prompt begins with a line of the host, whatever else is in it, and marks within a text are
// disarmed by [Neutralise].
package envelope

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/clawhost/clawhost/sdk/chat"
)

// Limits, so that no message can push out all else that the agent knows.
const (
	maxBody    = 128 << 10 // bytes of a text
	maxContext = 64 << 10  // bytes of an entry of Context
	maxQuote   = 4 << 10   // bytes of a quoted text
	maxPart    = 64        // runes of a name or title
)

// The host's own marks. [Neutralise] knows each of them.
const (
	contextOpen  = "[Context]"
	contextClose = "[/Context]"
	quoteOpen    = "[Replying to"
	quoteClose   = "[/Replying]"
	forwardMark  = "[Forwarded from"
	lateMark     = "[Late:"
	cutMark      = "[Cut:"
	mediaMark    = "<media:"
)

// Message is a message to be read by the agent.
type Message struct {
	Channel   string // the plugin instance's label
	Chat      chat.Chat
	Sender    chat.Sender
	SentAt    time.Time
	Previous  time.Time // when the session's previous message came; zero: this is the first
	Text      string
	Unread    []chat.Media // what the agent cannot open; only its kind is told
	Forwarded *chat.Forward
	ReplyTo   *chat.Quote
	Late      time.Duration // how old the message is, if that must be told; zero: it is not
	Context   []string      // what hooks put before the message
}

// Prompt returns what the agent reads, with times in the zone. It begins with a line of the host, is valid UTF-8, and
// has no line break but "\n".
func Prompt(m Message, zone *time.Location) string {
	var b strings.Builder
	for _, text := range m.Context {
		fmt.Fprintf(&b, "%s\n%s\n%s\n\n", contextOpen, cut(Neutralise(text), maxContext), contextClose)
	}
	b.WriteString(m.header(zone))
	if name := part(m.Sender.Name()); m.inGroup() && name != "" {
		fmt.Fprintf(&b, " %s:", name)
	}
	separator := " "
	if text := cut(Neutralise(m.Text), maxBody); text != "" {
		b.WriteString(" " + text)
		separator = "\n"
	}
	for _, media := range m.Unread {
		fmt.Fprintf(&b, "%s%s%s>", separator, mediaMark, media.Kind)
		separator = "\n"
	}
	if f := m.Forwarded; f != nil {
		fmt.Fprintf(&b, "\n%s]", join(forwardMark, orUnknown(part(f.From)), stamp(f.At, zone)))
	}
	if m.Late > 0 {
		fmt.Fprintf(&b, "\n%s written %s before you read it]", lateMark, short(m.Late))
	}
	if q := m.ReplyTo; q != nil {
		who := orUnknown(part(q.SenderName))
		if q.IsSelf {
			who = "you"
		}
		fmt.Fprintf(&b, "\n%s %s]\n", quoteOpen, who)
		if text := cut(Neutralise(q.Text), maxQuote); text != "" {
			b.WriteString(text + "\n")
		}
		b.WriteString(quoteClose)
	}
	return b.String()
}

func (m Message) inGroup() bool { return m.Chat.Kind != chat.Direct }

// header returns the host's line.
func (m Message) header(zone *time.Location) string {
	who := part(m.Sender.Name())
	if m.inGroup() {
		if who = part(m.Chat.Title); who == "" {
			who = part(string(m.Chat.ID))
		}
	}
	elapsed := ""
	if d := m.SentAt.Sub(m.Previous); !m.Previous.IsZero() && d >= time.Second {
		elapsed = "+" + short(d)
	}
	return "[" + join(label(m.Channel), who, elapsed, stamp(m.SentAt, zone)) + "]"
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

// join puts the parts that are not empty on one line.
func join(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, " ")
}

// stamp returns a time as the host writes it, or nothing for the zero time.
func stamp(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return t.In(zone).Format("Mon 2006-01-02 15:04 MST")
}

// short returns a duration in its largest whole unit, such as "5m".
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

// part makes a name fit for the host's line: on one line, without brackets, of bounded length.
func part(s string) string {
	visible := strings.Map(func(r rune) rune {
		switch folded := fold(r); {
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
	runes := []rune(strings.Join(strings.Fields(visible), " "))
	if len(runes) > maxPart {
		return strings.TrimRight(string(runes[:maxPart-1]), " ") + "…"
	}
	return string(runes)
}

func orUnknown(s string) string {
	if s == "" {
		return "somebody"
	}
	return s
}

// cut keeps the beginning of a text that is too long, and says so on a line of its own.
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
