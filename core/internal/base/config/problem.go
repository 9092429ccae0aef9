package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// Limits of a problem's parts, in bytes.
const (
	maxText    = 1000
	maxSnippet = 160
)

// Problem is an error in the file. It contains no value that may be a secret.
type Problem struct {
	File    string `json:"file,omitempty"`   // empty: the problem is the machine's
	Line    int    `json:"line,omitempty"`   // from 1; zero: the file as a whole
	Column  int    `json:"column,omitempty"` // in characters, from 1
	Summary string `json:"summary"`
	Detail  string `json:"detail,omitempty"`
	// Snippet is the line of the file. It is empty within plugin blocks and for lines that may contain a secret.
	Snippet string `json:"snippet,omitempty"`
}

// String returns the problem as "file:line:column: summary; detail", with the snippet on a line of its own.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
		}
		b.WriteString(": ")
	}
	b.WriteString(p.Summary)
	if p.Detail != "" {
		b.WriteString("; " + p.Detail)
	}
	if p.Snippet != "" {
		b.WriteString("\n    " + p.Snippet)
	}
	return b.String()
}

// Problems are the errors of a file, in the file's order. It is the error type of this package.
type Problems []Problem

// Error returns the problems, each starting on a new line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].String()
	}
	return strings.Join(lines, "\n")
}

// err returns p as an error, in order, or nil if there is no problem.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p.Sorted()
}

// Sorted returns the problems in the file's order, each once.
func (p Problems) Sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(p)
}

// secretNames are attributes whose values are never shown in any block: secrets, and arguments of programs, which may be
// secret.
var secretNames = []string{"api_keys", "dsn", "token", "env", "args", "transcribe", "speak", "command", "headers", "url"}

// secretWords matches, in a file that cannot be parsed, the first line that may contain a secret or opens a plugin block. A
// command in one string, such as claude's, has no arguments.
var secretWords = lazyregexp.New(`(?im)^[^#\n]*(\bplugin\b|\bdsn\b|\benv\s*=|\b(args|transcribe|speak|headers|url)\s*=|\bcommand\s*=\s*[^"\s]|key|token|secret|password)`)

// source is the file's text, and which of its lines may be shown.
type source struct {
	name  string
	text  []byte
	lines []string
	quiet []bool // by line, from 0
}

func newSource(name string, text []byte) *source {
	s := &source{name: name, text: text, lines: strings.Split(string(text), "\n")}
	s.quiet = make([]bool, len(s.lines))
	return s
}

// hideUnparsed hides everything from the first possible secret on: if braces do not match, the end of a block is unknown.
func (s *source) hideUnparsed() {
	for i, line := range s.lines {
		if secretWords().MatchString(line) {
			s.hide(i+1, len(s.lines))
			return
		}
	}
}

// hideSecrets hides plugin blocks and secrets of a parsed file.
func (s *source) hideSecrets(body *hclsyntax.Body) {
	for _, name := range secretNames {
		if a := body.Attributes[name]; a != nil {
			s.hide(a.SrcRange.Start.Line, a.SrcRange.End.Line)
		}
	}
	for _, b := range body.Blocks {
		if b.Type == "plugin" {
			s.hide(b.TypeRange.Start.Line, b.CloseBraceRange.End.Line)
			continue
		}
		s.hideSecrets(b.Body)
	}
}

func (s *source) hide(first, last int) {
	for i := max(first, 1); i <= min(last, len(s.quiet)); i++ {
		s.quiet[i-1] = true
	}
}

func (s *source) isQuiet(line int) bool {
	return line >= 1 && line <= len(s.quiet) && s.quiet[line-1]
}

// problem returns a problem at a range. The zero range stands for the file as a whole.
func (s *source) problem(at hcl.Range, summary, detail string) Problem {
	p := Problem{
		File:    s.name,
		Line:    at.Start.Line,
		Column:  at.Start.Column,
		Summary: printable(summary),
		Detail:  printable(detail),
	}
	if strings.HasPrefix(at.Filename, overrideSource) {
		p.File, p.Line, p.Column = at.Filename, 0, 0
	}
	if p.Line >= 1 && p.Line <= len(s.lines) && !s.isQuiet(p.Line) {
		p.Snippet = shorten(printable(strings.TrimSpace(s.lines[p.Line-1])), maxSnippet)
	}
	return p
}

// nameProblem returns a problem with an unknown name. The value after the name is hidden: the name may be that of a secret,
// misspelt.
func (s *source) nameProblem(name hcl.Range, summary, detail string) Problem {
	p := s.problem(name, summary, detail)
	if p.Snippet != "" {
		line := s.lines[p.Line-1]
		end := min(name.End.Byte-name.Start.Byte+name.Start.Column-1, len(line))
		p.Snippet = printable(strings.TrimSpace(line[:end])) + " …"
	}
	return p
}

// printable returns one short line of text without control characters.
func printable(text string) string {
	return shorten(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return '�'
		}
		return r
	}, text), maxText)
}

func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
