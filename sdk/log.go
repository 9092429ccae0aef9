package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
)

// logHandler passes the author's log records to go-plugin's logger, whose lines the host reads with their levels and
// fields.
type logHandler struct {
	to     hclog.Logger
	groups string // the open groups, each followed by a dot
}

// Enabled implements [slog.Handler].
func (h logHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelDebug
}

// Handle implements [slog.Handler].
func (h logHandler) Handle(_ context.Context, r slog.Record) error {
	fields := make([]any, 0, 2*r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		fields = appendField(fields, h.groups, a)
		return true
	})
	h.to.Log(logLevel(r.Level), r.Message, fields...)
	return nil
}

// WithAttrs implements [slog.Handler].
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var fields []any
	for _, a := range attrs {
		fields = appendField(fields, h.groups, a)
	}
	return logHandler{h.to.With(fields...), h.groups}
}

// WithGroup implements [slog.Handler].
func (h logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return logHandler{h.to, h.groups + name + "."}
}

// appendField appends a name and its value; fields of a group are prefixed with its name.
func appendField(fields []any, groups string, a slog.Attr) []any {
	value := a.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if a.Key != "" {
			groups += a.Key + "."
		}
		for _, member := range value.Group() {
			fields = appendField(fields, groups, member)
		}
		return fields
	}
	if a.Equal(slog.Attr{}) {
		return fields
	}
	return append(fields, groups+a.Key, logValue(value))
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

func logLevel(level slog.Level) hclog.Level {
	switch {
	case level >= slog.LevelError:
		return hclog.Error
	case level >= slog.LevelWarn:
		return hclog.Warn
	case level >= slog.LevelInfo:
		return hclog.Info
	default:
		return hclog.Debug
	}
}
