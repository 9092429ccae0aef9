package main

import (
	"bytes"
	"io"
	"os"
)

// style colours words for a terminal. The zero style leaves them plain.
type style struct{ colours bool }

// style is that of the output: in colours on a terminal, unless NO_COLOR is set (no-color.org).
func (a *app) style() style { return style{colours(a.out)} }

// colours reports whether a writer shows colours.
func colours(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(w)
}

func (s style) good(text string) string    { return s.in("32", text) }
func (s style) warning(text string) string { return s.in("33", text) }
func (s style) bad(text string) string     { return s.in("31", text) }
func (s style) strong(text string) string  { return s.in("1", text) }

// in returns a text in a style of ECMA-48.
func (s style) in(code, text string) string {
	if !s.colours {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// levels colours the level of each line of the log.
type levels struct{ io.Writer }

// levelColours are the levels as hclog writes them.
var levelColours = []struct{ level, code string }{{"[ERROR]", "31"}, {"[WARN]", "33"}, {"[DEBUG]", "2"}, {"[TRACE]", "2"}}

// Write writes one entry.
func (l levels) Write(entry []byte) (int, error) {
	coloured := entry
	for _, c := range levelColours {
		if before, after, found := bytes.Cut(entry, []byte(c.level)); found && len(before) < 40 { // behind the time, not in the text
			coloured = bytes.Join([][]byte{before, []byte(style{true}.in(c.code, c.level)), after}, nil)
			break
		}
	}
	_, err := l.Writer.Write(coloured)
	return len(entry), err
}
