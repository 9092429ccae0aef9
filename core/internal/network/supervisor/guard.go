package supervisor

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/budget"
)

const (
	// maxLine is the maximum length of a logged line of a plugin's stderr; the rest is dropped.
	maxLine = 16 << 10
	// keptLines is the number of lines that are stored to explain a crash.
	keptLines = 20
	// maxFields limits the fields of a structured line.
	maxFields = 32
	// maxLines limits the lines of a field in the log; the rest is joined to the last one.
	maxLines = 100
)

// guard converts a plugin's output to log lines. The output is untrusted: it may have any form.
type guard struct {
	log    hclog.Logger
	budget budget.Budget

	mu   sync.Mutex
	last []string // the newest unstructured lines
}

// stream returns a writer for one of the plugin's streams, which logs complete lines.
func (g *guard) stream() io.Writer { return &stream{guard: g} }

type stream struct {
	guard *guard
	part  []byte // an incomplete line
	over  bool   // drop the rest of the line
}

// Write handles the next bytes. It never fails.
func (s *stream) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte{'\n'})
		p = rest
		if !s.over {
			s.part = append(s.part, line[:min(len(line), maxLine-len(s.part))]...)
		}
		s.over = len(s.part) == maxLine
		if whole {
			s.guard.line(bytes.TrimSuffix(s.part, []byte{'\r'}))
			s.part, s.over = s.part[:0], false
		}
	}
	return n, nil
}

// read logs every line until r ends, including an incomplete last one.
func (g *guard) read(r io.Reader) {
	s := &stream{guard: g}
	_, _ = io.Copy(s, r) // any error means that the process has ended
	g.line(s.part)
	g.suppressed(g.budget.End())
}

// suppressed logs how many lines are missing.
func (g *guard) suppressed(lines int) {
	if lines > 0 {
		g.log.Warn("the plugin logs too much: lines are suppressed", "lines", lines)
	}
}

func (g *guard) line(line []byte) {
	if len(line) == 0 {
		return
	}
	logs, missing := g.budget.Take(len(line))
	g.suppressed(missing)
	if logs && g.structured(line) || !logs && line[0] == '{' {
		return
	}
	text := printable(string(line))
	g.mu.Lock()
	if g.last = append(g.last, text); len(g.last) > keptLines {
		g.last = g.last[len(g.last)-keptLines:]
	}
	g.mu.Unlock()
	if logs {
		g.log.Warn(text)
	}
}

// structured logs a line of hclog's JSON form and returns false for anything else.
func (g *guard) structured(line []byte) bool {
	if line[0] != '{' {
		return false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) != nil {
		return false
	}
	message, ok := text(fields["@message"])
	if !ok {
		return false
	}
	name, _ := text(fields["@level"])
	level := hclog.LevelFromString(name)
	if level == hclog.NoLevel {
		level = hclog.Info
	}
	var args []any
	keys := make([]string, 0, len(fields))
	for key := range fields {
		if !strings.HasPrefix(key, "@") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys[:min(len(keys), maxFields)] {
		value, ok := text(fields[key])
		if !ok {
			value = string(fields[key])
		}
		args = append(args, printable(key), printableLines(value))
	}
	g.log.Log(level, printable(message), args...)
	return true
}

// text returns the string of a JSON value.
func text(raw json.RawMessage) (s string, ok bool) {
	return s, len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil
}

// printableLines is printable but keeps the line breaks of a value, such as a stack: the log marks each line.
func printableLines(s string) string {
	lines := strings.SplitN(strings.ReplaceAll(strings.TrimRight(s, "\n"), "\t", "    "), "\n", maxLines)
	for n := range lines {
		lines[n] = printable(lines[n])
	}
	return strings.Join(lines, "\n")
}

// lastWords returns the beginning of the panic that ended the plugin, or else the last unstructured line.
func (g *guard) lastWords() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, line := range g.last {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		}
	}
	if len(g.last) == 0 {
		return ""
	}
	return g.last[len(g.last)-1]
}

// printable replaces characters that could forge or break a log line, control a terminal, or change the display order.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
