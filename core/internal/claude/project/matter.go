package project

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/frontmatter"
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
	matter := map[string]any{}
	body, err := frontmatter.Read(string(data), &matter)
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
	b.WriteString(body)
	return b.Bytes(), shorten(description), nil
}

func shorten(s string) string {
	const most = 300
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
