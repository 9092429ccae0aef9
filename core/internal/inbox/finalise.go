package inbox

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/lazyregexp"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// maxQuoted bounds a quoted text and a thread's first message, in bytes. The agent reads less of them.
const maxQuoted = 16 << 10

// finalise makes an immutable message of an event. It returns false for events that are not for the agent, and for
// those with an id that is too long: a shortened one could belong to another event. The message has no authority yet.
//
// Line breaks become "\n". A backslash followed by an "n" is unchanged: channels send real line breaks, and the two
// characters occur in code and paths.
func finalise(channel string, e chat.Event) (domain.Message, bool) {
	m := domain.Message{Channel: channel, Chat: e.Chat, Thread: e.Thread, Sender: e.Sender, SentAt: e.At}
	switch m.Chat.Kind {
	case chat.Direct, chat.Group, chat.Broadcast:
	default:
		m.Chat.Kind = chat.Group // the kind with the fewest rights
	}
	m.Chat.Title = wire.Cut(e.Chat.Title, wire.MaxName)
	m.Sender.DisplayName = wire.Cut(e.Sender.DisplayName, wire.MaxName)
	m.Sender.Username = wire.Cut(e.Sender.Username, wire.MaxName)
	m.Sender.Aliases = slices.DeleteFunc(slices.Clone(e.Sender.Aliases), func(id chat.UserID) bool { return len(id) > wire.MaxID })

	said := true
	switch body := e.Body.(type) {
	case chat.Message:
		said = say(&m, body)
	case chat.NativeCommand:
		m.Command = &domain.Command{Name: strings.ToLower(wire.Cut(body.Name, wire.MaxCommand)), Args: trim(newlines(wire.Cut(body.Args, wire.MaxText)))}
		m.Text = strings.TrimSpace("/" + m.Command.Name + " " + m.Command.Args)
	case chat.StopRequest:
		m.Command = &domain.Command{Name: "stop"}
		m.Text = "/stop"
	case chat.ButtonPress:
		// A button of the host contains the command that pressing it gives.
		m.Text = trim(newlines(wire.Cut(body.Data, wire.MaxText)))
		said = m.Text != ""
	default:
		said = false
	}
	if !said || slices.ContainsFunc([]int{len(m.Chat.ID), len(m.Chat.Parent), len(m.Thread), len(m.Sender.ID), len(m.ID)}, func(n int) bool { return n > wire.MaxID }) {
		return domain.Message{}, false
	}
	return m, true
}

// say sets what a person wrote, and reports whether there is something to read in it.
func say(m *domain.Message, body chat.Message) bool {
	written := wire.Cut(body.Text, wire.MaxText)
	m.ID = body.ID
	m.Text = readable(harmless(written, body.Mentions), body.Mentions)
	if m.Text != written {
		m.Raw = written
	}
	m.Media = files(body.Media, wire.MaxMedia)
	if body.ReplyTo != nil {
		quote := *body.ReplyTo
		quote.SenderName = wire.Cut(quote.SenderName, wire.MaxName)
		quote.Text = trim(newlines(wire.Cut(quote.Text, maxQuoted)))
		if len(quote.ID) > wire.MaxID {
			quote.ID = ""
		}
		if quote.Media = files(quote.Media, wire.MaxMedia-len(m.Media)); quote.IsSelf {
			quote.Media = own(quote.Media)
		}
		m.ReplyTo = &quote
	}
	if body.Forwarded != nil {
		m.Forwarded = &chat.Forward{From: wire.Cut(body.Forwarded.From, wire.MaxName), At: body.Forwarded.At}
	}
	m.Starter = trim(newlines(wire.Cut(body.ThreadStarter, maxQuoted)))
	return m.Text != "" || len(m.Media) > 0
}

// files returns at most so many files, with bounded descriptions.
func files(list []chat.Media, most int) []chat.Media {
	var kept []chat.Media
	for _, media := range list[:min(len(list), most)] {
		media.FileName = wire.Cut(media.FileName, wire.MaxName)
		media.MIMEType = wire.Cut(media.MIMEType, wire.MaxName)
		if media.Problem = wire.Cut(media.Problem, wire.MaxName); media.Ref != "" {
			media.Problem = "" // the file is there
		}
		if media.Ref != "" || media.Problem != "" {
			media.Token = ""
		}
		kept = append(kept, media)
	}
	return kept
}

// own returns files that the agent sent itself. They are not fetched.
func own(list []chat.Media) []chat.Media {
	for i := range list {
		list[i].Ref, list[i].Token, list[i].Problem = "", "", "was sent by you"
	}
	return list
}

// readable returns the part of a text that the agent reads. A mention alone stays, because it still calls the agent.
func readable(written string, mentions []chat.Mention) string {
	if text := trim(newlines(withoutSelf(written, mentions))); text != "" {
		return text
	}
	return trim(newlines(written))
}

// structural matches what clients put before lines copied from a chat, and what the host puts before lines for the
// agent: brackets with a time of day or a network's name.
var structural = lazyregexp.New(`^(?:\[(?:[^\[\]\n]{0,200}\b\d{1,2}:\d{2}\b[^\[\]\n]{0,100}|(?i:telegram|whatsapp|discord|web chat) [^\[\]\n]{1,300})\]\s*)+`)

// commandText returns the part of a message that may contain commands and directives: without the prefix of a copied
// line. A forwarded text has none, because somebody else wrote it.
func commandText(m domain.Message) string {
	if m.Forwarded != nil {
		return ""
	}
	return strings.TrimSpace(structural().ReplaceAllString(m.Text, ""))
}

// copied reports whether a text begins like a line copied from a chat: somebody else may have written it.
func copied(text string) bool { return structural().MatchString(text) }

// asked returns the text to search for commands: without the agent's name before it, as the patterns find it, and
// without the name after it if a stop word or a single command remains.
func asked(text string, patterns []*regexp.Regexp, commands Commands) string {
	for _, p := range patterns {
		if at := p.FindStringIndex(text); at != nil && at[0] == 0 && at[1] > 0 {
			if rest, ok := behindName(text[at[1]:]); ok {
				text = rest
				break
			}
		}
	}
	for _, p := range patterns {
		all := p.FindAllStringIndex(text, -1)
		if len(all) == 0 || strings.Trim(text[all[len(all)-1][1]:], " \t\n.,:;!?") != "" {
			continue
		}
		before := strings.TrimRight(text[:all[len(all)-1][0]], " \t\n")
		before = strings.TrimSuffix(before, ",")
		if _, command := commands.Parse(before); command && !strings.ContainsAny(before, " \t\n") || commands.IsAbort(before) {
			return before
		}
	}
	return text
}

// behindName returns the text after a name: "Claw, do it", "Claw: do it" or "Claw do it". False: the name is part of a
// word, or alone.
func behindName(text string) (string, bool) {
	rest := strings.TrimLeft(text, " \t")
	if rest != "" && (rest[0] == ',' || rest[0] == ':') {
		rest = rest[1:]
		text = rest
	}
	rest = strings.TrimSpace(rest)
	return rest, rest != "" && strings.TrimLeftFunc(text, unicode.IsSpace) != text
}

// withoutSelf removes the agent's mentions from a text, as if they had not been written: one space remains between the
// words around them. It skips ranges outside the text and overlapping ones.
func withoutSelf(text string, mentions []chat.Mention) string {
	own := slices.DeleteFunc(slices.Clone(mentions), func(m chat.Mention) bool { return !m.IsSelf || !within(text, m) })
	slices.SortStableFunc(own, func(a, b chat.Mention) int { return a.Offset - b.Offset })
	kept, end := "", 0
	for i, m := range own {
		if m.Offset < end {
			continue
		}
		begin := m.Offset
		if at := strings.IndexByte(text[begin:begin+m.Length], '@'); at > 0 && text[begin] == '/' {
			begin += at // "/status@bot" mentions the agent and is still the command.
		}
		if i == 0 {
			kept = text[:begin]
		} else {
			kept = glue(kept, text[end:begin])
		}
		end = m.Offset + m.Length
	}
	if end == 0 {
		return text
	}
	return glue(kept, text[end:])
}

// within reports whether a mention is a range of whole characters of the text.
func within(text string, m chat.Mention) bool {
	if m.Offset < 0 || m.Length <= 0 || m.Offset >= len(text) || m.Length > len(text)-m.Offset {
		return false
	}
	end := m.Offset + m.Length
	return utf8.RuneStart(text[m.Offset]) && (end == len(text) || utf8.RuneStart(text[end]))
}

// glue joins the text before a mention with the text after it.
func glue(before, after string) string {
	const spaces = " \t"
	left, right := strings.TrimRight(before, spaces), strings.TrimLeft(after, spaces)
	switch {
	case strings.TrimSpace(left) == "": // "@bot, do it" and "@bot: do it" call the agent by name.
		if rest := strings.TrimLeft(right, ",:"); len(right)-len(rest) == 1 && strings.TrimLeftFunc(rest, unicode.IsSpace) != rest {
			right = strings.TrimLeft(rest, spaces)
		}
		return left + right
	case strings.HasSuffix(left, "\n"), strings.HasSuffix(left, "\r"), strings.HasPrefix(right, "\n"), strings.HasPrefix(right, "\r"):
		return left + right
	case left == before && right == after:
		return left + right
	case right == after && right != "" && strings.ContainsRune(".,;:!?", rune(right[0])):
		return left + right
	default:
		return left + " " + right
	}
}

var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// newlines makes all line breaks "\n".
func newlines(text string) string { return lineBreaks.Replace(text) }

// trim removes invisible characters from both ends of a text.
func trim(text string) string { return strings.TrimFunc(text, blank) }

// blank reports whether a character at the end of a text can be removed without loss. The joiners and tags that emoji
// consist of cannot.
func blank(r rune) bool {
	switch r {
	case '\u00ad', '\u034f', '\u115f', '\u1160', '\u17b4', '\u17b5', '\u180e', '\u200b', '\u200c', '\u200e', '\u200f', '\u2060', '\u2061',
		'\u2062', '\u2063', '\u2064', '\u2800', '\u3164', '\ufeff', '\uffa0':
		return true
	default:
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}
}
