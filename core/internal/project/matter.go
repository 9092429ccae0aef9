package project

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// The keys of front matter that are kept. Others grant tools, run hooks, start servers or change the permission mode.
var (
	skillKeys   = []string{"argument-hint", "disable-model-invocation", "user-invocable"}
	commandKeys = []string{"argument-hint", "disable-model-invocation"}
	agentKeys   = []string{"tools", "disallowedTools", "model", "color"}
)

// powerless returns a Markdown file with a front matter that has a name, the description and the given keys only. Its values
// are written as JSON, so that no reader of YAML finds another key in them.
func powerless(data []byte, name string, keys []string) (file []byte, description string, err error) {
	matter, body, err := frontMatter(data)
	if err != nil {
		return nil, "", err
	}
	description, _ = matter["description"].(string)
	description = strings.Join(strings.Fields(description), " ")
	if description == "" {
		return nil, "", errNoMatter
	}
	var b bytes.Buffer
	b.WriteString("---\n")
	put := func(key string, value any) {
		text, err := json.Marshal(value)
		if err == nil {
			fmt.Fprintf(&b, "%s: %s\n", key, text)
		}
	}
	put("name", name)
	put("description", shorten(description))
	for _, key := range keys {
		switch value := matter[key].(type) {
		case string, bool:
			put(key, value)
		case []any:
			if !slices.ContainsFunc(value, func(v any) bool { _, text := v.(string); return !text }) {
				put(key, value)
			}
		}
	}
	b.WriteString("---\n")
	b.Write(body)
	return b.Bytes(), shorten(description), nil
}

func shorten(s string) string {
	const most = 300
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// frontMatter splits a file into its front matter, which may be missing, and the rest.
func frontMatter(data []byte) (map[string]any, []byte, error) {
	text := strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n")
	matter := map[string]any{}
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return matter, []byte(text), nil
	}
	var source strings.Builder
	for line := range strings.Lines(rest) {
		rest = rest[len(line):]
		if strings.TrimRight(line, " \t\n") == "---" {
			if err := yaml.Load([]byte(source.String()), &matter); err != nil {
				return nil, nil, fmt.Errorf("read front matter: %s", strings.Join(strings.Fields(err.Error()), " "))
			}
			return matter, []byte(rest), nil
		}
		source.WriteString(line)
	}
	return nil, nil, errNoMatter
}
