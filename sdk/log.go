package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"strings"
	"time"
)

// logHandler writes the author's log records as lines of JSON, from which the host reads levels and fields. Names with an "@"
// are the record's own, as in the lines of github.com/hashicorp/go-hclog.
type logHandler struct {
	to     io.Writer
	module string
	fields map[string]any
	groups string // the open groups, each followed by a dot
}

// Enabled implements [slog.Handler].
func (h logHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelDebug
}

// Handle implements [slog.Handler].
func (h logHandler) Handle(_ context.Context, r slog.Record) error {
	line := map[string]any{
		"@level": logLevel(r.Level), "@message": r.Message, "@module": h.module,
		"@timestamp": r.Time.Format("2006-01-02T15:04:05.000000Z07:00"),
	}
	maps.Copy(line, h.fields)
	r.Attrs(func(a slog.Attr) bool {
		setField(line, h.groups, a)
		return true
	})
	encoded, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = h.to.Write(append(encoded, '\n'))
	return err
}

// WithAttrs implements [slog.Handler].
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	fields := map[string]any{}
	maps.Copy(fields, h.fields)
	for _, a := range attrs {
		setField(fields, h.groups, a)
	}
	h.fields = fields
	return h
}

// WithGroup implements [slog.Handler].
func (h logHandler) WithGroup(name string) slog.Handler {
	if name != "" {
		h.groups += name + "."
	}
	return h
}

// setField sets a name to its value; fields of a group are prefixed with its name.
func setField(fields map[string]any, groups string, a slog.Attr) {
	value := a.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if a.Key != "" {
			groups += a.Key + "."
		}
		for _, member := range value.Group() {
			setField(fields, groups, member)
		}
		return
	}
	if !a.Equal(slog.Attr{}) {
		fields[groups+a.Key] = logValue(value)
	}
}

// logValue returns a value as people should read it: by its String or Error method, not as JSON.
func logValue(v slog.Value) any {
	switch value := v.Any().(type) {
	case time.Duration:
		if value >= time.Second {
			value = value.Round(time.Millisecond)
		}
		return value.String()
	case time.Time:
		return value.Format(time.RFC3339Nano)
	case error, fmt.Stringer:
		return fmt.Sprint(value) // recovers if the method panics on nil
	case []byte:
		return strings.ToValidUTF8(string(value), "\ufffd")
	default:
		if _, err := json.Marshal(value); err != nil {
			return fmt.Sprint(value)
		}
		return value
	}
}

func logLevel(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return "error"
	case level >= slog.LevelWarn:
		return "warn"
	case level >= slog.LevelInfo:
		return "info"
	default:
		return "debug"
	}
}

// standardLog logs what the standard library's log package writes, at the level that a line begins with, such as "[WARN]".
type standardLog struct{ to *slog.Logger }

// Write takes one line.
func (s standardLog) Write(line []byte) (int, error) {
	text, level := strings.TrimRight(string(line), " \t\n"), slog.LevelInfo
	for _, known := range []struct {
		prefix string
		level  slog.Level
	}{
		{"[TRACE]", slog.LevelDebug - 1},
		{"[DEBUG]", slog.LevelDebug},
		{"[INFO]", slog.LevelInfo},
		{"[WARN]", slog.LevelWarn},
		{"[ERROR]", slog.LevelError},
		{"[ERR]", slog.LevelError},
	} {
		if rest, found := strings.CutPrefix(text, known.prefix); found {
			text, level = strings.TrimSpace(rest), known.level
			break
		}
	}
	s.to.Log(context.Background(), level, text) // the writer of a log has no context
	return len(line), nil
}
