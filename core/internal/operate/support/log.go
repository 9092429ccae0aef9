package support

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

var (
	firstKey = lazyregexp.New(`(?s):\s+([A-Za-z_@][\w@.-]*)=`)
	key      = lazyregexp.New(`^\s*([A-Za-z_@][\w@.-]*)=`)
	amount   = lazyregexp.New(`^-?\d+(\.\d+)?$`)
	span     = lazyregexp.New(`^-?(\d+(\.\d+)?(h|m|s|ms|µs|ns))+$`)
	truth    = lazyregexp.New(`^(true|false)$`)
	release  = lazyregexp.New(`^(dev|v?\d+(\.\d+)+(-[a-z0-9.]{1,20})?)$`)
	aModel   = lazyregexp.New(`^(claude-[a-z0-9-]{1,40}|opus|sonnet|haiku|fable|demo|default)(\[1m\])?$`)
	aLevel   = lazyregexp.New(`^(trace|debug|info|warn|error)$`)
	aTime    = lazyregexp.New(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)$`)
)

// What values of the log are, by their keys. All others are pseudonyms.
var (
	amounts = []string{
		"attempt", "attempts", "bytes", "columns", "count", "deliveries", "files", "item", "lines", "messages", "most", "pid", "run", "signal", "size", "tokens_in",
		"tokens_out", "turns",
	}
	texts = []string{"advice", "cause", "class", "detail", "error", "kind", "login", "outcome", "problem", "reason", "severity", "state", "why"}
	codes = []string{"code"}
)

// kinds are what the pseudonyms of some keys are called.
var kinds = map[string]string{"by": "person", "user": "person", "owner": "person", "from": "person", "peer": "person", "id": "value", "about": "plugin", "plugin": "plugin", "channel": "plugin"}

// line disguises a line of the log, which is a JSON value as [admin.Client.Logs] shows it. What a plugin of others writes is left out.
func (d *disguise) line(raw string) string {
	var entry map[string]any
	if json.Unmarshal([]byte(raw), &entry) != nil {
		return gap
	}
	taken := func(key string) string {
		value, _ := entry[key].(string)
		delete(entry, key)
		return value
	}
	at, level, module, message := taken("time"), taken("level"), taken("module"), taken("message")
	if !aTime().MatchString(at) {
		at = gap
	}
	if !aLevel().MatchString(level) {
		level = gap
	}
	module = strings.TrimPrefix(module, "clawhost.")
	top, _, _ := strings.Cut(module, ".")
	if called, plugin := d.labels[top]; plugin && !slices.Contains(shipped, called) {
		return fmt.Sprintf("%s [%s] %s: %s", at, level, called, gap)
	}
	if !d.words[top] && !slices.Contains(shipped, top) && module != "clawhost" {
		module = d.name("module", module)
	}
	message, values := fields(message)
	for key, value := range entry {
		values[key] = fmt.Sprint(value)
	}
	line := fmt.Sprintf("%s [%s] %s: %s", at, level, module, d.text(message))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		line += " " + strings.ReplaceAll(d.text(strings.ReplaceAll(key, "_", " ")), " ", "_") + "=" + d.value(key, values[key])
	}
	return line
}

// value disguises a value of the log.
func (d *disguise) value(key, value string) string {
	switch {
	case truth().MatchString(value), span().MatchString(value), slices.Contains(amounts, key) && amount().MatchString(value):
		return value
	case key == "version":
		return d.one(release(), "version", value)
	case key == "model":
		return d.one(aModel(), "model", value)
	case slices.Contains(codes, key):
		return strings.ReplaceAll(d.text(strings.ReplaceAll(value, "_", " ")), " ", "_")
	case slices.Contains(texts, key):
		return "(" + d.text(value) + ")"
	}
	switch kind := kinds[key]; {
	case kind == "plugin":
		return d.label(value)
	case kind != "":
		return d.name(kind, value)
	case d.words[key]:
		return d.name(key, value)
	}
	return d.name("value", value)
}

// fields splits a message in the format text from the values behind it.
func fields(message string) (text string, values map[string]string) {
	values = map[string]string{}
	at := firstKey().FindStringIndex(message)
	if at == nil {
		return message, values
	}
	text, rest := message[:at[0]], message[at[0]+1:]
	for {
		found := key().FindStringSubmatch(rest)
		if found == nil {
			return text, values // what follows, if anything, is no value
		}
		rest = rest[len(found[0]):]
		switch quoted, err := strconv.QuotedPrefix(rest); {
		case err == nil:
			values[found[1]], _ = strconv.Unquote(quoted)
			rest = rest[len(quoted):]
		case strings.HasPrefix(rest, "\n"):
			rest = rest[1:]
			for strings.HasPrefix(strings.TrimLeft(rest, " "), "| ") {
				line, others, _ := strings.Cut(rest, "\n")
				values[found[1]] += strings.TrimPrefix(strings.TrimLeft(line, " "), "| ") + "\n"
				rest = others
			}
		default:
			end := strings.IndexAny(rest, " \n")
			if end < 0 {
				end = len(rest)
			}
			values[found[1]], rest = rest[:end], rest[end:]
		}
	}
}
