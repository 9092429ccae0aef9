package stub

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// demoModel is what the demo calls its model.
const demoModel = "demo"

// What the demo's answers begin with, and the list of what people can try.
const (
	demoAnswer = "Demo answer (not Claude) to:"
	demoList   = "Write one of these words to see what clawhost does:\n\n" +
		"- `tool`: two tools are used, which only look\n" +
		"- `ask`: you are asked whether a command may run\n" +
		"- `choose`: you are asked to choose\n" +
		"- `markdown`: a table, a list and code\n" +
		"- `long`: there is time to stop it, or to write something meanwhile\n\n" +
		"For Claude itself: `npm install -g @anthropic-ai/claude-code`, run `claude` once to log in, and start clawhost again, without `-demo`."
	demoMore = "Write `demo` to see what you can try."
)

// scripted returns the script of a text, with the text around it. A demo takes no directives, because they can do anything.
func (s *session) scripted(text string) (Script, string) {
	if s.opts.demo {
		return demonstration(text, len(s.log.history) == 0 || s.log.history[0] == text), text
	}
	return directive(text, s.opts.script)
}

// demoText is the demo's answer to a text: what the script says, in which $SAID is what people have written in this turn, and
// $RESULTS what its tools wrote.
func (s *session) demoText(script Script, text string) string {
	for _, l := range s.steered {
		text += "\n" + l.text
	}
	return strings.NewReplacer("$SAID", code(said(text)), "$RESULTS", code(strings.Join(s.outputs, "\n"))).Replace(script.Say)
}

// demonstration is the script of a text in a demo: that of the last line that is a word of [demoList]. A new conversation
// begins with the list.
func demonstration(text string, first bool) Script {
	script := Script{Say: demoMore}
	for line := range strings.Lines(said(text)) {
		switch word(line) {
		case "tool":
			script = Script{
				Tools: []string{"date; sleep 1", "ls | head -n 20; sleep 1"}, // the pauses let people see them
				Say:   "The time, and what is in the workspace:$RESULTS\n\nAfter `/verbose full`, each tool is listed with what it wrote. " + demoMore,
			}
		case "ask":
			script = Script{
				Tool: "echo hello from the demo of clawhost", Ask: true,
				Say: "Claude would be told:$RESULTS\n\n" + demoMore,
			}
		case "choose":
			script = Script{
				Questions: []byte(`[{"question": "This is a demo. Which tea?", "header": "Tea", "multiSelect": false, "options": [
					{"label": "Green", "description": "from China"}, {"label": "Black", "description": "from Assam"}, {"label": "None"}]}]`),
				Say: "Claude would be told:$RESULTS\n\n" + demoMore,
			}
		case "markdown":
			script = Script{Say: "| tea | from | minutes |\n|---|---|---:|\n| green | China | 2 |\n| black | Assam | 4 |\n\n" +
				"1. **Boil** water.\n2. *Wait* as long as the table says.\n\n```go\nfmt.Println(\"The tea is ready.\")\n```\n\n> This is a quote.\n\n" + demoMore}
		case "long":
			script = Script{
				Tools: []string{"sleep 3", "sleep 3"}, TokenDelayMS: 100,
				Say: "Two tools have waited for three seconds each. What you write while a tool runs becomes part of the turn, if " +
					"`queue.mode` is `steer`, and stands above. What you write now is answered next. `/stop` ends this answer, and in the " +
					"web chat the button Stop or Escape do; what is written until then stays. And if clawhost is killed now and started " +
					"again, it continues, and no message is lost.\n\n" + demoMore,
			}
		case "demo":
			first = true
		}
	}
	if first {
		script.Say = strings.Replace(script.Say, demoMore, demoList, 1)
	}
	script.Say, script.Again = demoAnswer+"$SAID\n\n"+script.Say, true
	return script
}

// word is the only word of a line, apart from mentions and, in a group, the name before it; empty: there are others.
func word(line string) string {
	if _, text, named := strings.Cut(line, ": "); named {
		line = text
	}
	var found string
	for _, field := range strings.Fields(line) {
		switch {
		case strings.HasPrefix(field, "@"):
		case found != "":
			return ""
		default:
			found = field
		}
	}
	return strings.ToLower(strings.Trim(found, "`.!?,\"'“”"))
}

// What the host adds to people's words, in which it disarms what looks like it: blocks, lines, and the beginnings of lines.
// Notes of files are lines, too.
var (
	hostBlock  = lazyregexp.New(`(?ms)\A.*^\[Current message - respond to this\]\n|^\[(?:Context|Thread started with|Replying to [^\n]*|Linked page [^\n]*, untrusted text)\]\n.*?^\[/(?:Context|Thread|Replying|Linked page)\]\n*|^\[Queue overflow\].*?\n\n|^Untrusted context \(.*`)
	hostLine   = lazyregexp.New(`(?m)^(?:---\nQueued #|System:|Note:|\[(?:Outgoing files:|from:|Late:|Cut:|Queued messages|/?Forwarded|/?Transcript|Linked page)).*\n*`)
	hostHeader = lazyregexp.New(`(?m)^\[[^\]\n]*\d{4}-\d\d-\d\d \d\d:\d\d[^\]\n]*\] ?`)
	fileNote   = lazyregexp.New(`<media:(\w+) (.*?)(?: \(([^()\n]*)\))?>`)
)

// said is what people, or a program, have written: a prompt without what the host adds. Files are named.
func said(prompt string) string {
	text := prompt
	for _, added := range []*regexp.Regexp{hostBlock(), hostLine(), hostHeader()} {
		text = added.ReplaceAllString(text, "")
	}
	text = fileNote().ReplaceAllStringFunc(text, func(note string) string {
		match := fileNote().FindStringSubmatch(note)
		name := match[2][strings.LastIndexByte(match[2], '/')+1:]
		if given, _, _ := strings.Cut(match[3], ", "); given != "" && !strings.Contains(given, "/") {
			name = given // the sender's name stands before the type
		}
		return "(" + match[1] + " " + name + ")"
	})
	return strings.TrimSpace(text)
}

// code is a text as code behind a colon, in which nothing is formatted and no marker counts.
func code(text string) string {
	const short, most = 200, 8 << 10 // bytes
	text = cmp.Or(strings.TrimSpace(text), "(nothing)")
	if len(text) <= short && !strings.ContainsAny(text, "\n`") {
		return " `" + text + "`"
	}
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return "\n\n" + fence + "\n" + text + "\n" + fence
}
