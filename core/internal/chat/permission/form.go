package permission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
)

// Bounds of what an MCP server asks people for. A form that exceeds them is not asked, because people could not see all of it.
const (
	maxFormFields = 12
	maxFormLabels = 30 // of a field
	maxFormTexts  = 2000
	maxFormRounds = 5 // how often it is filled in, if people want to change their answers
)

// form is what an MCP server asks people for: fields, or to open a link.
type form struct {
	server, message string
	link            *url.URL // nil: fields
	fields          []formField
}

// formPart is the part of a form that one question asks. Without a field or a link it is the end of the form: whether it is sent.
type formPart struct {
	Server  string     `json:"server"`
	Message string     `json:"message,omitempty"`
	Field   *formField `json:"field,omitempty"`
	Number  int        `json:"number,omitempty"` // of the field
	Of      int        `json:"of,omitempty"`
	Link    string     `json:"link,omitempty"`
	Host    string     `json:"host,omitempty"`
	Sends   []sent     `json:"sends,omitempty"`  // what is sent
	Change  bool       `json:"change,omitempty"` // it may be filled in again
}

// sent is a field with what people have answered.
type sent struct {
	Title string `json:"title"`
	Value string `json:"value,omitempty"` // empty: it is left out
}

// readForm reads what an MCP server asks for.
func readForm(asked agent.Elicitation) (f form, err error) {
	f = form{server: asked.Server, message: strings.TrimSpace(wording.Visible(asked.Message))}
	if asked.URL != "" {
		f.link, err = readLink(asked.URL)
		return f, err
	}
	schema := readInput(asked.Schema)
	if len(asked.Schema) == 0 {
		return f, nil
	}
	properties := readInput(schema.value("properties"))
	var required []string
	switch {
	case !schema.plain || !properties.plain && schema.value("properties") != nil || !schema.read("required", &required):
		return f, errors.New("its schema is not one of an object with fields")
	case len(properties.fields) > maxFormFields:
		return f, fmt.Errorf("it has %d fields, and at most %d are asked for", len(properties.fields), maxFormFields)
	}
	for _, property := range properties.fields {
		field, err := readField(property.name, property.value)
		if err != nil {
			return f, fmt.Errorf("a field cannot be asked for: %w", err)
		}
		field.Required = slices.Contains(required, property.name)
		f.fields = append(f.fields, field)
	}
	return f, nil
}

// readLink reads a link that people are asked to open. It must be what it looks like: a page by HTTPS, or of this machine.
func readLink(text string) (*url.URL, error) {
	link, err := url.Parse(text)
	odd := func(r rune) bool { return r > unicode.MaxASCII || r <= ' ' || strings.ContainsRune(`<>"\`, r) }
	switch {
	case err != nil || strings.ContainsFunc(text, odd) || link.Host == "" || link.User != nil:
		return nil, errors.New("its link is not a plain address of a page")
	case link.Scheme == "https", link.Scheme == "http" && local(link.Hostname()):
		return link, nil
	default:
		return nil, errors.New("its link is neither https nor one of this machine")
	}
}

// local reports whether a host is the machine itself.
func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// elicit asks people for what an MCP server wants: one field after the other, then whether all of it may be sent, unless it is one answer
// that they chose of a list. The server gets all or nothing, and a resumed turn asks all of it again.
func (d *Approvals) elicit(ctx context.Context, run *conversation.Run, w *waiter, q agent.Question) (agent.Decision, error) {
	f, err := readForm(*q.Elicits)
	if err != nil {
		d.log.Warn("what an MCP server asks people for cannot be asked", "server", f.server, "session", run.Session.Key, "error", err)
		return agent.Decision{Message: "It could not be asked."}, nil
	}
	e := elicitation{Approvals: d, run: run, w: w, q: q, form: f}
	decision, err := e.ask(ctx)
	if err != nil {
		return agent.Decision{}, err
	}
	return decision, d.options.Store.TakeAnswers(ctx, e.asked...)
}

// elicitation is a form that is being asked.
type elicitation struct {
	*Approvals
	run   *conversation.Run
	w     *waiter
	q     agent.Question
	form  form
	asked []string // the ids of its questions
}

// ask asks all of the form.
func (e *elicitation) ask(ctx context.Context) (agent.Decision, error) {
	if len(e.form.fields) == 0 {
		v, err := e.part(ctx, formPart{Message: e.form.message}.linked(e.form.link))
		if err == nil && v.Allow {
			return agent.Decision{Allow: true}, nil
		}
		return agent.Decision{Declined: v.declined(), Message: v.Said}, err
	}
	for {
		content, sends, v, err := e.fill(ctx)
		if err != nil || !v.Allow {
			return agent.Decision{Declined: v.declined(), Message: v.Said}, err
		}
		if e.form.confirmed() {
			change := len(e.asked) < maxFormRounds*(len(e.form.fields)+1)
			v, err := e.part(ctx, formPart{Sends: sends, Change: change})
			if err != nil || !v.Allow {
				return agent.Decision{Declined: v.declined(), Message: v.Said}, err
			}
			if v.Said == againWord {
				continue
			}
		}
		given, err := json.Marshal(content)
		return agent.Decision{Allow: true, Input: given}, err
	}
}

// fill asks for each field. The verdict is that of the last one.
func (e *elicitation) fill(ctx context.Context) (content map[string]json.RawMessage, sends []sent, v verdict, err error) {
	content = map[string]json.RawMessage{}
	for i, field := range e.form.fields {
		p := formPart{Field: &field, Number: i + 1, Of: len(e.form.fields)}
		if i == 0 {
			p.Message = e.form.message
		}
		if v, err = e.part(ctx, p); err != nil || !v.Allow {
			return nil, nil, v, err
		}
		if v.Value != nil {
			content[field.Name] = v.Value
		}
		sends = append(sends, sent{Title: field.Title, Value: v.Said}) // nothing is said of one that is left out
	}
	return content, sends, v, nil
}

// part asks a part of the form.
func (e *elicitation) part(ctx context.Context, p formPart) (verdict, error) {
	p.Server = e.form.server
	id, v, err := e.await(ctx, e.run, e.w, e.q, len(e.asked), formBody(p))
	if err != nil {
		return verdict{}, err
	}
	e.asked = append(e.asked, id)
	return v, nil
}

// confirmed reports whether people confirm what is sent: they see it once more, unless they have only chosen one answer.
func (f form) confirmed() bool { return len(f.fields) > 1 || f.fields[0].Free() || f.fields[0].Several }

// linked adds the link that is to be opened.
func (p formPart) linked(link *url.URL) formPart {
	if link != nil {
		p.Link, p.Host = link.String(), link.Host
	}
	return p
}

// formBody is the question for a part of a form.
func formBody(p formPart) body {
	b := body{About: wording.AboutForm}
	p.Server, p.Message = cut(oneLine(p.Server), maxLabel), b.cut(p.Message, maxShown)
	lines := []string{p.Message, p.Link}
	if f := p.Field; f != nil {
		b.Labels, b.Details, b.Several = f.Labels, make([]string, len(f.Labels)), f.Several
		lines = append(lines, f.Title, f.Help)
		b.Missing += f.Missing
	}
	for _, s := range p.Sends {
		lines = append(lines, strings.TrimSuffix(s.Title+": "+s.Value, ": "))
	}
	b.Line = strings.Join(slices.DeleteFunc(lines, func(line string) bool { return line == "" }), "\n")
	b.Form = &p
	return b
}

// shown returns the part for the wording package.
func (p formPart) shown() *wording.Form {
	f := &wording.Form{Server: p.Server, Message: p.Message, Number: p.Number, Of: p.Of, Link: p.Link, Host: p.Host}
	for _, s := range p.Sends {
		f.Sends = append(f.Sends, wording.Sent(s))
	}
	if p.Field != nil {
		f.Field, f.Help, f.Optional, f.Takes = p.Field.Title, p.Field.Help, !p.Field.Required, p.Field.takes()
	}
	return f
}

// asks names what a question is about, as people read it.
func asks(q agent.Question) string {
	if q.Elicits != nil {
		return wording.ServerName(cut(oneLine(q.Elicits.Server), maxLabel))
	}
	return called(q.Tool)
}
