package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode/utf8"
)

// maxText limits what a template makes of a payload, in bytes.
const maxText = 32 << 10

// cutNote stands after a text that was cut.
const cutNote = "\n… (cut here: the text is longer)"

// textFunction is the name of the function through which each value is written.
const textFunction = "_text"

// defaultTemplates are the templates of the forms.
var defaultTemplates = map[string]string{
	"github": `GitHub: {{.event}}{{with .action}} {{.}}{{end}}{{with .repository}} in {{.full_name}}{{end}}{{with .sender}} by {{.login}}{{end}}
{{- with .ref}}
{{.}}{{end}}
{{- range .commits}}
- {{.message}} ({{.author.name}}){{end}}
{{- with .issue}}
#{{.number}} {{.title}} {{.html_url}}{{if not $.comment}}{{with .body}}
{{.}}{{end}}{{end}}{{end}}
{{- with .pull_request}}
#{{.number}} {{.title}} {{.html_url}}{{if not $.comment}}{{with .body}}
{{.}}{{end}}{{end}}{{end}}
{{- with .comment}}
{{.html_url}}
{{.body}}{{end}}
{{- with .review}}
{{.state}} {{.html_url}}
{{.body}}{{end}}
{{- with .release}}
{{.tag_name}} {{.name}} {{.html_url}}
{{.body}}{{end}}
{{- with .workflow_run}}
{{.name}} on {{.head_branch}}: {{.conclusion}} {{.html_url}}{{end}}
{{- if not (or .ref .commits .issue .pull_request .comment .review .release .workflow_run)}}
{{.}}{{end}}`,
	"plain": `{{.}}`,
}

// outline is a template that ends for each payload, within bounds.
type outline struct{ template *template.Template }

// compile parses a template. What a payload does not have is empty.
func compile(text string) (*outline, error) {
	t, err := template.New("template").Funcs(template.FuncMap{textFunction: textOf}).Funcs(new(budget).functions()).Parse(text)
	if err != nil {
		return nil, err
	}
	if len(t.Templates()) > 1 {
		return nil, errors.New("a template must not define others")
	}
	if err := bound(t.Root); err != nil {
		return nil, err
	}
	return &outline{t}, nil
}

// bound changes the parsed template: each value that is written passes through textOf, and each step of a loop is counted.
func bound(node parse.Node) error {
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		for _, child := range n.Nodes {
			if err := bound(child); err != nil {
				return err
			}
		}
	case *parse.ActionNode:
		if len(n.Pipe.Decl) == 0 {
			n.Pipe.Cmds = append(n.Pipe.Cmds, call(textFunction))
		}
	case *parse.IfNode:
		return errors.Join(bound(n.List), bound(n.ElseList))
	case *parse.WithNode:
		return errors.Join(bound(n.List), bound(n.ElseList))
	case *parse.RangeNode:
		err := errors.Join(bound(n.List), bound(n.ElseList))
		count := &parse.ActionNode{
			NodeType: parse.NodeAction,
			Pipe:     &parse.PipeNode{NodeType: parse.NodePipe, Cmds: []*parse.CommandNode{call(stepFunction)}},
		}
		n.List.Nodes = append([]parse.Node{count}, n.List.Nodes...)
		return err
	case *parse.TemplateNode:
		return errors.New("a template must not call templates, which may never end")
	}
	return nil
}

// call returns a call of a function at the end of a pipeline.
func call(function string) *parse.CommandNode {
	return &parse.CommandNode{NodeType: parse.NodeCommand, Args: []parse.Node{parse.NewIdentifier(function)}}
}

// textOf returns a value as templates write it. It is nil for what the payload does not have.
func textOf(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case map[string]any, []any:
		var b strings.Builder
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(v) // what was decoded can be encoded
		return strings.TrimSuffix(b.String(), "\n")
	default:
		return fmt.Sprint(v)
	}
}

// render returns the text for a payload. If the template does not fit it, that is the payload itself, and the
// error names the place in the template.
func (o *outline) render(payload map[string]any) (string, error) {
	t, err := o.template.Clone()
	if err != nil {
		return "", err
	}
	t.Funcs(new(budget).functions())
	var text bounded
	err = t.Execute(&text, payload)
	if errors.Is(err, errFull) {
		err = nil
	}
	if err != nil {
		text = bounded{}
		_, _ = text.Write([]byte(textOf(payload)))
		// What follows the place in the template may quote the payload.
		place, _, _ := strings.Cut(err.Error(), ">: ")
		err = errors.New(place + ">")
	}
	return text.String(), err
}

// errFull ends the writing of a text that is too long.
var errFull = errors.New("the text is full")

// bounded keeps the beginning of what is written to it.
type bounded struct {
	kept bytes.Buffer
	full bool
}

// Write returns errFull for what is too much.
func (b *bounded) Write(p []byte) (int, error) {
	left := maxText - b.kept.Len()
	if len(p) <= left {
		return b.kept.Write(p)
	}
	b.full = true
	n, _ := b.kept.Write(p[:left])
	return n, errFull
}

// String returns what was kept, with a note if it was cut.
func (b *bounded) String() string {
	text := b.kept.Bytes()
	if !b.full {
		return string(text)
	}
	for i := 0; i < utf8.UTFMax && len(text) > 0; i++ {
		if r, size := utf8.DecodeLastRune(text); r != utf8.RuneError || size != 1 {
			break
		}
		text = text[:len(text)-1]
	}
	return string(text) + cutNote
}
