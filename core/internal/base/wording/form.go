package wording

import (
	"fmt"
	"strconv"
	"strings"
)

// Form is a part of what an MCP server asks people for: a field of a form, its confirmation, or a link to open. The server wrote all of
// it but its name.
type Form struct {
	Server  string
	Message string // of the server

	Field    string // the title of the field; empty: none is asked for
	Help     string // of the field
	Number   int    // of the field, of so many
	Of       int
	Optional bool
	Takes    string // what is to be written, as of [Value]; empty: answers are only chosen

	Link, Host string // to open; empty: none
	Sends      []Sent // what the server gets, to confirm; empty: nothing is to confirm
}

// Sent is a field of a form with what people have answered.
type Sent struct {
	Title string
	Value string // empty: it is left out
}

// Labels and explanations of the answers to forms.
const (
	YesLabel     = "Yes"
	DenyLabel    = "No"
	SkipLabel    = "⏭ Leave out"
	SkipHelp     = "leave it out"
	DeclineLabel = "❌ Decline"
	DeclineHelp  = "answer nothing at all"
	SendLabel    = "✅ Send"
	SendHelp     = "send it"
	AgainLabel   = "✏️ Change"
	AgainHelp    = "ask for all of it again"
	AcceptLabel  = "✅ Accept"
	AcceptHelp   = "accept"
	DoneLabel    = "✅ Done"
	DoneHelp     = "once you have been there"
)

// UsualLabel is the label of the answer that takes the value which the server proposes.
func UsualLabel(value string) string { return "Take " + cut(value, 40) }

// UsualHelp explains it.
func UsualHelp(value string) string { return "take " + Verbatim(value) }

// Kind is the kind of a value that people write.
type Kind string

// The kinds of values.
const (
	AnyText  Kind = "text"
	Number   Kind = "number"
	Integer  Kind = "integer"
	Email    Kind = "email"
	URI      Kind = "uri"
	Date     Kind = "date"
	DateTime Kind = "date-time"
)

// Value describes what may be written: for numbers with the least and the greatest one, for texts with the least and greatest number of
// characters; nil: no limit.
func Value(kind Kind, least, most *float64) string {
	what := map[Kind]string{
		Number: "a number, such as 2.5", Integer: "a whole number", Email: "an email address", URI: "an address such as https://example.com",
		Date: "a date such as 2026-03-15", DateTime: "a date and time such as 2026-03-15T14:30:00Z",
	}[kind]
	if kind == Number || kind == Integer {
		return what + between(least, most, "")
	}
	return or(what, "a text") + between(least, most, " characters")
}

// Several describes how many answers may be chosen.
func Several(least, most *float64) string {
	return "the numbers of your answers, such as `1,3`" + between(least, most, " of them")
}

func between(least, most *float64, unit string) string {
	said := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	switch {
	case least != nil && most != nil && *least == *most:
		return fmt.Sprintf(", exactly %s%s", said(*least), unit)
	case least != nil && most != nil:
		return fmt.Sprintf(", from %s to %s%s", said(*least), said(*most), unit)
	case least != nil:
		return fmt.Sprintf(", at least %s%s", said(*least), unit)
	case most != nil:
		return fmt.Sprintf(", at most %s%s", said(*most), unit)
	default:
		return ""
	}
}

// UnfitValue answers a person whose text is no value for the field.
func UnfitValue(takes string) string { return "This does not fit. Write " + takes + "." }

// cited shows a text that a foreign program wrote, apart from the host's own words.
func cited(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight("> "+Escape(strings.TrimSpace(line)), " ")
	}
	return strings.Join(lines, "\n")
}

// form writes a part of a form.
func (q Question) form(b *strings.Builder) {
	f := q.Form
	switch {
	case f.Sends != nil:
		fmt.Fprintf(b, "**Send this to the MCP server** %s**?**\n\n", Verbatim(f.Server))
		for _, s := range f.Sends {
			value := "(left out)"
			if s.Value != "" {
				value = Verbatim(s.Value)
			}
			fmt.Fprintf(b, "- %s: %s\n", Escape(s.Title), value)
		}
		return
	case f.Number <= 1:
		fmt.Fprintf(b, "**The MCP server** %s **asks you:**\n", Verbatim(f.Server))
		if f.Message != "" {
			fmt.Fprintf(b, "\n%s\n", cited(f.Message))
		}
	default:
		fmt.Fprintf(b, "**For the MCP server** %s**:**\n", Verbatim(f.Server))
	}
	if f.Link != "" {
		fmt.Fprintf(b, "\nIt wants you to open a page of **%s**:\n\n<%s>\n\nOpen it only if you trust this site. What you enter there does not go through this chat.\n", Escape(f.Host), f.Link)
	}
	if f.Field == "" {
		return
	}
	fmt.Fprintf(b, "\n**%s**", Escape(f.Field))
	var notes []string
	if f.Of > 1 {
		notes = append(notes, fmt.Sprintf("%d of %d", f.Number, f.Of))
	}
	if f.Optional {
		notes = append(notes, "may be left out")
	}
	if len(notes) > 0 {
		fmt.Fprintf(b, " (%s)", strings.Join(notes, ", "))
	}
	b.WriteString("\n")
	if f.Help != "" {
		fmt.Fprintf(b, "\n%s\n", cited(f.Help))
	}
}

// answers writes how a form is answered.
func (q Question) answers(b *strings.Builder, buttons bool) {
	var numbered, words []string
	for i, a := range q.Answers {
		switch {
		case a.Word == "":
			numbered = append(numbered, fmt.Sprintf("%d. %s", i+1, Escape(a.Label)))
		case a.Help == "":
			words = append(words, "- "+Verbatim(a.Word))
		default:
			words = append(words, "- "+Verbatim(a.Word)+": "+a.Help)
		}
	}
	if len(numbered) > 0 && (!buttons || q.Several) {
		fmt.Fprintf(b, "\n%s\n", strings.Join(numbered, "\n"))
	}
	write, or := "Write", ""
	if !q.Direct {
		write = "Reply to this with"
	}
	takes := q.Form.Takes
	if takes == "" && len(numbered) > 0 && !buttons {
		takes = "a number"
	}
	if takes != "" {
		fmt.Fprintf(b, "\n%s %s.\n", write, takes)
		or = "Or "
		write = strings.ToLower(write[:1]) + write[1:]
	}
	if !buttons {
		fmt.Fprintf(b, "\n%s%s one of these words:\n\n%s\n", or, write, strings.Join(words, "\n"))
	}
	if q.Form.Takes != "" && len(numbered) == 0 {
		who := "it stays in this chat"
		if !q.Direct {
			who = "everybody here can, too"
		}
		fmt.Fprintf(b, "\nThe server reads what you write, and %s: no passwords or other secrets.\n", who)
	}
	if q.Form.Takes != "" || !buttons {
		fmt.Fprintf(b, "\n`/answer %s …` does the same.", q.ID)
	}
}

// ServerName names an MCP server, for [TooManyQuestions].
func ServerName(name string) string { return "MCP server " + name }

// server names the server that asks.
func (f Form) server() string { return "MCP server " + Verbatim(f.Server) }

// asked names the subject of a closed part of a form.
func (f Form) asked(line string) string {
	switch {
	case f.Sends != nil:
		return f.server()
	case f.Field != "":
		return f.server() + ", " + Escape(f.Field)
	case f.Link != "":
		return f.server() + ", a page of " + Escape(f.Host)
	case line != "":
		return f.server() + ", " + Escape(OneLine(line, maxAsked))
	default:
		return f.server()
	}
}

// Filled replaces a field that was filled in.
func Filled(by, asked, value string) string {
	return fmt.Sprintf("✅ %s: %s, said %s.", asked, Verbatim(value), by)
}

// LeftOut replaces a field that was left out.
func LeftOut(by, asked string) string { return "⏭ " + asked + ": left out by " + by + "." }

// FormDeclined replaces a form that was declined.
func FormDeclined(by, asked string) string { return "❌ " + asked + ": declined by " + by + "." }

// Sending replaces a form that was confirmed, or a page that was visited.
func Sending(by, asked string) string { return "✅ " + asked + ": confirmed by " + by + "." }

// AskedAgain replaces a form that is filled in once more.
func AskedAgain(by, asked string) string {
	return "✏️ " + asked + ": is filled in again for " + by + "."
}
