package permission

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
	"github.com/clawhost/clawhost/core/internal/base/wording"
)

// Bounds of what is shown with a question's text, in characters. The rest counts as missing.
const (
	maxField  = 200 // of a field's value
	maxFields = 20  // fields
)

// maxDepth is how deep an input may be nested to be shown with indentation.
const maxDepth = 20

// input is the input of a tool.
type input struct {
	fields []field // in their order in the input
	plain  bool    // it is an object, and no name occurs twice
}

// field is one of its fields. Its name is as the model wrote it; case matters.
type field struct {
	name  string
	value json.RawMessage
}

// simple matches names that need no quotes.
var simple = lazyregexp.New(`^[\p{L}\p{N}_.-]+$`)

// title returns the field's name for people. It is quoted if it could be mistaken for more than a name.
func (f field) title() string {
	if simple().MatchString(f.name) {
		return f.name
	}
	var quoted bytes.Buffer
	e := json.NewEncoder(&quoted)
	e.SetEscapeHTML(false)
	if err := e.Encode(f.name); err != nil {
		return line(f.name)
	}
	return line(strings.TrimSuffix(quoted.String(), "\n"))
}

// shown returns the field's value for people: as JSON on one line, with its texts unchanged.
func (f field) shown() string {
	var compact bytes.Buffer
	if err := json.Compact(&compact, f.value); err != nil {
		return line(string(f.value))
	}
	return line(compact.String())
}

func readInput(raw json.RawMessage) input {
	d := json.NewDecoder(bytes.NewReader(raw))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return input{}
	}
	in := input{plain: true}
	names := map[string]bool{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return input{}
		}
		f := field{}
		f.name, _ = name.(string)
		if err := d.Decode(&f.value); err != nil {
			return input{}
		}
		in.plain = in.plain && !names[f.name]
		names[f.name] = true
		in.fields = append(in.fields, f)
	}
	return in
}

// value returns a field's value, or nil.
func (in input) value(name string) json.RawMessage {
	if i := slices.IndexFunc(in.fields, func(f field) bool { return f.name == name }); i >= 0 {
		return in.fields[i].value
	}
	return nil
}

// text returns a text field, or "".
func (in input) text(name string) (text string) {
	_ = json.Unmarshal(in.value(name), &text)
	return text
}

// read decodes a field into a text, a truth value or a list. It reports whether the field exists and can be read so.
func (in input) read(name string, into any) bool {
	value := in.value(name)
	return value == nil || json.Unmarshal(value, into) == nil
}

// objects reads a list of objects in which no name occurs twice.
func (in input) objects(name string) (list []input, ok bool) {
	var values []json.RawMessage
	if !in.read(name, &values) {
		return nil, false
	}
	for _, value := range values {
		object := readInput(value)
		if !object.plain {
			return nil, false
		}
		list = append(list, object)
	}
	return list, true
}

// without returns the fields except the texts of these names. A field of such a name that is not a text stays, because
// [input.text] did not show it.
func (in input) without(names ...string) []field {
	return slices.DeleteFunc(slices.Clone(in.fields), func(f field) bool {
		return slices.Contains(names, f.name) && bytes.HasPrefix(bytes.TrimSpace(f.value), []byte{'"'})
	})
}

// showInput shows a tool's input: a command, a change or a text as it is, with the other fields in one line, and
// anything else as JSON.
func (b *body) showInput(q agent.Question) {
	in := readInput(q.Input)
	said := []string{}
	if in.text("description") == q.Description { // It is shown separately.
		said = append(said, "description")
	}
	command, content, source := in.text("command"), in.text("content"), in.text("new_source")
	was, is := in.text("old_string"), in.text("new_string")
	switch {
	case !in.plain:
		b.Doubtful = true
	case command != "":
		b.show(exact(command), maxShown)
		b.besides(in.without(append(said, "command")...))
		return
	case q.Tool == "Edit" && was+is != "":
		b.show(wording.Visible(difference(was, is)), maxShown)
		b.besides(in.without(append(said, "old_string", "new_string")...))
		return
	case q.Tool == "Write" && content != "":
		b.show(wording.Visible(content), maxShown)
		b.besides(in.without(append(said, "content")...))
		return
	case q.Tool == "NotebookEdit" && source != "":
		b.show(wording.Visible(source), maxShown)
		b.besides(in.without(append(said, "new_source")...))
		return
	}
	if text := indented(q.Input); text != "" && text != "{}" {
		b.show(wording.Visible(text), maxShown)
	}
}

// indented returns JSON with a line for each value, and on one line if it is nested deeper than maxDepth: the spaces before
// the lines grow with the square of the depth. It returns "" for what is not JSON.
func indented(raw json.RawMessage) string {
	if !json.Valid(raw) {
		return ""
	}
	var text bytes.Buffer
	if depth(raw) > maxDepth {
		_ = json.Compact(&text, raw) // it is valid
		return text.String()
	}
	_ = json.Indent(&text, raw, "", "  ")
	return text.String()
}

// depth returns how deep valid JSON is nested.
func depth(raw json.RawMessage) (most int) {
	at := 0
	for d := json.NewDecoder(bytes.NewReader(raw)); ; {
		token, err := d.Token()
		switch token {
		case json.Delim('{'), json.Delim('['):
			at++
			most = max(most, at)
		case json.Delim('}'), json.Delim(']'):
			at--
		}
		if err != nil {
			return most
		}
	}
}

// besides shows fields in one line, as JSON, the short ones first.
func (b *body) besides(fields []field) {
	slices.SortStableFunc(fields, func(a, b field) int { return cmp.Compare(min(len(a.value), maxField), min(len(b.value), maxField)) })
	var list []string
	for i, f := range fields {
		name, value := f.title(), f.shown()
		if i >= maxFields {
			b.Missing += utf8.RuneCountInString(name) + utf8.RuneCountInString(value)
			continue
		}
		list = append(list, b.cut(name, maxLabel)+": "+b.cut(value, maxField))
	}
	b.Other = strings.Join(list, ", ")
}

// cut shortens a text to a number of characters, and counts the rest as missing.
func (b *body) cut(text string, most int) string {
	b.Missing += max(0, utf8.RuneCountInString(text)-most)
	return cut(text, most)
}

// difference shows a change of lines: removed, added, and unchanged ones around them.
func difference(was, is string) string {
	before, after := strings.Split(was, "\n"), strings.Split(is, "\n")
	head := 0
	for head < min(len(before), len(after)) && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < min(len(before), len(after))-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	var out strings.Builder
	write := func(mark string, lines []string) {
		for _, line := range lines {
			fmt.Fprintf(&out, "%s %s\n", mark, line)
		}
	}
	write(" ", before[:head])
	write("-", before[head:len(before)-tail])
	write("+", after[head:len(after)-tail])
	write(" ", before[len(before)-tail:])
	return strings.TrimSuffix(out.String(), "\n")
}
