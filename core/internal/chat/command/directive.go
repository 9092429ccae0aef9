package command

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// reading is the result of reading the words after a directive.
type reading struct {
	words int    // how many of them belong to it
	args  string // these words, as its command takes them
	// set stores the value; nil: no value, or an unknown one.
	set func(*domain.Overrides)
	// lasting reports whether the value makes sense only for a session, not for one message.
	lasting bool
}

// directives may stand anywhere in a message, by the names of their commands.
var directives = map[string]func(Models, []string) reading{
	"think": think.read, "fast": fast.read, "verbose": verbose.read, "reasoning": reasoning.read, "elevated": elevated.read, "exec": exec.read,
	"usage": usage.read, "model": readModel, "queue": readQueue,
}

// shortcuts are the commands that are answered besides the text in which they stand. They take no value.
var shortcuts = map[string]bool{"help": true, "commands": true, "status": true, "whoami": true}

// directiveAliases are further names of directives.
var directiveAliases = map[string]string{
	"thinking": "think", "t": "think", "v": "verbose", "reason": "reasoning", "elev": "elevated",
}

// ambiguous directives are common in other meanings: within a text they count only with a known value.
var ambiguous = map[string]bool{"t": true, "v": true, "usage": true}

// escalating directives may give the agent more power. They count only at the beginning of a message, so that
// another person's text, quoted or pasted within a message, cannot do that.
var escalating = map[string]bool{"elevated": true, "exec": true}

// maxWords is how many words after a directive are read.
const maxWords = 8

// directive is one found in a text.
type directive struct {
	span
	written  string // its name as written
	command  domain.Command
	shortcut bool // it is a shortcut
	reading
}

// bare reports whether no possible value follows.
func (d directive) bare() bool { return d.set == nil && d.words == 0 }

// Directives removes the directives from a text by a person of this authority: /think, /model, /verbose, /reasoning,
// /elevated, /exec, /queue and /usage with their values, as "/think high" or "/think:high", at the beginning of a word
// and neither in code nor in a quoted line. Begins reports whether the message begins with the text: /elevated and
// /exec count only as the first word of a message. Elsewhere they are text.
//
// Within other text they apply to this message only; rest is the text without them. In the same way it removes /help,
// /commands, /status and /whoami, and returns them as the commands to be answered besides it. If nothing else is in the
// text, rest is empty, and the commands store their values for the session, or show the current ones. If one of them
// has an unknown value or is not permitted, it returns only the commands that say so, and an empty rest: the text must
// not be run. The model "default" is the config's.
//
// For people who may not use commands, everything is text.
func (r *Registry) Directives(
	text string, begins bool, authority chat.Authority,
) (rest string, overrides domain.Overrides, commands []domain.Command) {
	var found []directive
	if authority >= chat.Authorised {
		found = scan(text, begins, r.host.Models.Get())
	}
	if len(found) == 0 {
		return text, domain.Overrides{}, nil
	}
	if cut(text, found) == "" {
		return "", domain.Overrides{}, commandsOf(found)
	}
	var applied, apart, refused []directive
	for i, d := range found {
		// If another directive follows directly, removing it would give this one a value that was not meant.
		leads := i+1 < len(found) && skipBlank(text, d.end, len(text)) == found[i+1].start
		switch {
		case d.shortcut:
			applied, apart = append(applied, d), append(apart, d)
		case d.bare() && !leads, d.set == nil && !d.bare() && ambiguous[d.written]:
			// It is text.
		case d.set == nil, d.lasting, authority < r.byName[d.command.Name].MinAuthority:
			refused = append(refused, d)
		default:
			applied = append(applied, d)
		}
	}
	if len(refused) > 0 {
		return "", domain.Overrides{}, commandsOf(refused)
	}
	for _, d := range applied {
		if !d.shortcut {
			d.set(&overrides)
		}
	}
	return cut(text, applied), overrides, commandsOf(apart)
}

// commandsOf returns the commands of directives, only the last one of each.
func commandsOf(list []directive) []domain.Command {
	var commands []domain.Command
	for _, d := range list {
		commands = slices.DeleteFunc(commands, func(c domain.Command) bool { return c.Name == d.command.Name })
		commands = append(commands, d.command)
	}
	return commands
}

// scan finds the directives of a text.
func scan(text string, begins bool, models Models) []directive {
	if !strings.Contains(text, "/") {
		return nil
	}
	var found []directive
	skipped := inert(text)
	first := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
	for at := 0; at < len(text); {
		slash := strings.IndexByte(text[at:], '/')
		if slash < 0 {
			break
		}
		slash += at
		at = slash + 1
		for len(skipped) > 0 && skipped[0].end <= slash {
			skipped = skipped[1:]
		}
		if len(skipped) > 0 && skipped[0].start <= slash {
			at = skipped[0].end
			continue
		}
		until := len(text)
		if len(skipped) > 0 {
			until = skipped[0].start
		}
		d, ok := readDirective(text, slash, until, models)
		if ok && (slash == first && begins || !escalating[d.command.Name]) {
			found = append(found, d)
			at = d.end
		}
	}
	return found
}

// readDirective reads the directive whose slash is at an offset, and which must end before until.
func readDirective(text string, slash, until int, models Models) (directive, bool) {
	if before, _ := utf8.DecodeLastRuneInString(text[:slash]); slash > 0 && !unicode.IsSpace(before) {
		return directive{}, false
	}
	end := slash + 1
	for end < until && (text[end]|0x20) >= 'a' && (text[end]|0x20) <= 'z' {
		end++
	}
	if after, _ := utf8.DecodeRuneInString(text[end:]); end < len(text) && after != ':' && !unicode.IsSpace(after) {
		return directive{}, false
	}
	d := directive{written: strings.ToLower(text[slash+1 : end])}
	name := d.written
	if of, ok := directiveAliases[name]; ok {
		name = of
	}
	d.start = slash
	if shortcuts[name] {
		d.end, d.shortcut, d.command = end, true, domain.Command{Name: name}
		return d, !strings.HasPrefix(text[end:], ":") // A colon announces a value that is missing.
	}
	read, ok := directives[name]
	if !ok {
		return directive{}, false
	}
	var values []span
	d.end, values = valuesBehind(text, end, until)
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = text[v.start:v.end]
	}
	d.reading = read(models, words)
	if d.words > 0 {
		d.end = values[d.words-1].end
	}
	d.command = domain.Command{Name: name, Args: d.args}
	return d, true
}

// valuesBehind returns the words that may be a directive's value: those after it on its line, up to one that begins
// with a slash or is inert. A colon may come first; behind is the offset after it.
func valuesBehind(text string, at, until int) (behind int, list []span) {
	behind = at
	at = skipBlank(text, at, until)
	if at < until && text[at] == ':' {
		behind = at + 1
		at = skipBlank(text, behind, until)
	}
	for at < until && text[at] != '/' && len(list) < maxWords {
		length := strings.IndexFunc(text[at:], unicode.IsSpace)
		if length == 0 {
			break // the end of the line, or another kind of blank
		}
		end := at + length
		if length < 0 {
			end = len(text)
		}
		list = append(list, span{at, end})
		at = skipBlank(text, end, until)
	}
	return behind, list
}

func skipBlank(text string, at, until int) int {
	for at < until && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	return at
}

// cut removes these directives and the blanks around them. It also removes lines that become empty.
func cut(text string, list []directive) string {
	if len(list) == 0 {
		return text
	}
	var b strings.Builder
	from := 0
	for i := 0; i < len(list); i++ {
		start, end := list[i].start, list[i].end
		for i+1 < len(list) && strings.Trim(text[end:list[i+1].start], " \t") == "" {
			i++
			end = list[i].end
		}
		head := strings.TrimRight(text[from:start], " \t")
		tail := len(text) - len(strings.TrimLeft(text[end:], " \t\r"))
		begins := head == "" && (from == 0 || text[from-1] == '\n') || strings.HasSuffix(head, "\n")
		ends := tail == len(text) || text[tail] == '\n'
		b.WriteString(head)
		switch {
		case begins && ends && tail < len(text):
			tail++
		case !begins && !ends:
			b.WriteByte(' ')
		}
		from = tail
	}
	b.WriteString(text[from:])
	// The first line keeps its indent, which may mark it as code.
	return strings.TrimRightFunc(strings.TrimLeft(b.String(), "\r\n"), unicode.IsSpace)
}

// firstWord is the text before the first blank.
func firstWord(s string) string {
	if words := strings.Fields(s); len(words) > 0 {
		return words[0]
	}
	return ""
}
