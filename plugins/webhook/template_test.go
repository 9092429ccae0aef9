package main

import (
	"strings"
	"testing"
)

func rendered(t *testing.T, text, payload string) (string, error) {
	t.Helper()
	o, err := compile(text)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := decode([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	return o.render(decoded)
}

// Behaviour: webhook-template.
func TestTemplates(t *testing.T) {
	t.Parallel()
	const payload = `{"a":{"b":"x","n":null,"list":[1,null,"z"]},"big":12345678901234,"real":0.25,"yes":true,"t":"{{.a}}"}`
	for text, want := range map[string]string{
		"{{.a.b}}":                                 "x",
		"<{{.no}}{{.no.no}}{{.a.no.no}}>":          "<>",
		"<{{.a.n}}{{.a.n.x}}>":                     "<>",
		"{{with .a.no}}x{{else}}none{{end}}":       "none",
		"{{if .yes}}{{.yes}}{{end}}":               "true",
		"{{.big}} {{.real}}":                       "12345678901234 0.25",
		"{{range .a.list}}[{{.}}]{{end}}":          "[1][][z]",
		"{{range .no}}x{{else}}-{{end}}":           "-",
		"{{.a}}":                                   `{"b":"x","list":[1,null,"z"]}`,
		"{{.t}}":                                   "{{.a}}",
		"{{$x := .a.b}}{{$x}}":                     "x",
		`{{printf "%s!" .a.b}}`:                    "x!",
		`{{printf "%-3s|%03d|%[1]q" .a.b 7}}`:      `x  |007|"x"`,
		`<{{printf "%v%s" .no .a.n}}>`:             "<>",
		`<{{html .no}}{{print .no "y"}}>`:          "<y>",
		`{{html "<"}}{{js "'"}}{{urlquery "&"}}`:   `&lt;\'%26`,
		`{{println 1 "a"}}`:                        "1 a\n",
		`{{if eq .a.b "x"}}same{{end}}`:            "same",
		"{{/* nothing */}}":                        "",
		"{{range $i, $e := .a.list}}{{$i}}{{end}}": "012",
	} {
		if got, err := rendered(t, text, payload); got != want || err != nil {
			t.Errorf("%s gives %q, %v, want %q", text, got, err, want)
		}
	}
}

// A template that does not fit a payload loses nothing of it, and the error tells nothing of it.
// Behaviour: webhook-template.
func TestATemplateThatDoesNotFit(t *testing.T) {
	t.Parallel()
	const payload = `{"a":"private","n":5000000000,"list":[[1],[2]]}`
	for text, place := range map[string]string{
		"x {{.a.b.c}}":                            "<.a.b.c",
		"{{range .a}}{{end}}{{len .n}}":           "",
		"{{index .list 7}}":                       "<index .list 7",
		"{{range .n}}{{end}}":                     "_step",
		"{{range .n}}{{range $.n}}{{end}}{{end}}": "_step",
		`{{$x := .a}}{{range 40}}{{$x = printf "%s%s" $x $x}}{{end}}`:                      "printf",
		`{{$x := .a}}{{range 40}}{{$x = print $x $x}}{{end}}`:                              "print",
		`{{$x := .a}}{{range 40}}{{$x = println $x $x}}{{end}}`:                            "println",
		`{{$x := "<"}}{{range 40}}{{$x = html $x $x}}{{end}}`:                              "html",
		`{{$x := "<"}}{{range 40}}{{$x = js $x}}{{end}}`:                                   "js",
		`{{$x := " "}}{{range 40}}{{$x = urlquery $x $x}}{{end}}`:                          "urlquery",
		`{{$x := "%999999[1]d"}}{{range 10}}{{$x = print $x $x $x}}{{end}}{{printf $x 1}}`: "printf",
	} {
		got, err := rendered(t, text, payload)
		if got != `{"a":"private","list":[[1],[2]],"n":5000000000}` || err == nil || !strings.Contains(err.Error(), place) ||
			strings.Contains(err.Error(), "private") {
			t.Errorf("%s gives %.100q, %v", text, got, err)
		}
	}
}

// Behaviour: webhook-template.
func TestTextsAreCut(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{{.a}}", "{{range .list}}{{$.a}}{{end}}", "x{{.a}}", "xx{{.a}}"} {
		got, err := rendered(t, text, `{"a":"`+strings.Repeat("🚪", maxText/4+10)+`","list":[1,2,3]}`)
		kept, cut := strings.CutSuffix(got, cutNote)
		if err != nil || !cut || len(kept) > maxText || len(kept) < maxText-4 || strings.ContainsRune(kept, '\uFFFD') {
			t.Errorf("%s gives %d bytes, cut %t, %v", text, len(kept), cut, err)
		}
	}
	whole := strings.Repeat("x", maxText)
	if got, err := rendered(t, "{{.a}}", `{"a":"`+whole+`"}`); got != whole || err != nil {
		t.Errorf("a text that just fits gives %d bytes, %v", len(got), err)
	}
}

func TestTemplatesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"{{", "{{.a", "{{nothing .a}}", `{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`, `{{block "a" .}}{{end}}`,
		`{{define "a"}}{{end}}`, `x{{define "a"}}y{{end}}`,
		`{{range .a}}{{if .b}}{{with .c}}{{template "a"}}{{end}}{{end}}{{end}}`, `{{if .a}}{{else}}{{template "a"}}{{end}}`,
	} {
		if _, err := compile(text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
