package supervisor

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
)

const (
	// maxLine is the longest line of a plugin's stderr that is logged; the rest of it is dropped.
	maxLine = 16 << 10
	// keptLines are remembered to explain a death.
	keptLines = 20
	// maxFields bounds what one structured line may add to the log.
	maxFields = 32
)

// stderrReader turns what a plugin writes to stderr into log lines. The plugin may write anything: nothing that it writes
// is trusted to have a shape.
type stderrReader struct {
	log hclog.Logger

	mu   sync.Mutex
	last []string // the newest lines that were no structured log
}

// read logs every line until r ends.
func (s *stderrReader) read(r io.Reader) {
	lines := bufio.NewReaderSize(r, maxLine)
	for {
		line, more, err := lines.ReadLine()
		if err != nil {
			return
		}
		s.line(line)
		for more && err == nil { // drop the rest of a line that is too long
			_, more, err = lines.ReadLine()
		}
	}
}

func (s *stderrReader) line(line []byte) {
	if len(line) == 0 {
		return
	}
	if s.structured(line) {
		return
	}
	text := printable(string(line))
	s.mu.Lock()
	if s.last = append(s.last, text); len(s.last) > keptLines {
		s.last = s.last[len(s.last)-keptLines:]
	}
	s.mu.Unlock()
	s.log.Warn(text)
}

// structured logs a line of hclog's JSON form and returns false for anything else.
func (s *stderrReader) structured(line []byte) bool {
	if line[0] != '{' {
		return false
	}
	var fields map[string]any
	if json.Unmarshal(line, &fields) != nil {
		return false
	}
	message, ok := fields["@message"].(string)
	if !ok {
		return false
	}
	name, _ := fields["@level"].(string)
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
		args = append(args, printable(key), printable(fmt.Sprint(fields[key])))
	}
	s.log.Log(level, printable(message), args...)
	return true
}

// lastWords is the beginning of the panic that ended the plugin, or else the last line that was no structured log.
func (s *stderrReader) lastWords() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.last {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		}
	}
	if len(s.last) == 0 {
		return ""
	}
	return s.last[len(s.last)-1]
}

// printable replaces what could forge or break a log line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
