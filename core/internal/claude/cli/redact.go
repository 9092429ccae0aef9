package cli

import (
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/sdk/redact"
)

// hidden replaces a secret.
const hidden = "[redacted]"

// RedactShapes removes everything in the shape of a secret from a foreign text.
func RedactShapes(text string) string { return redact.Text(text, hidden) }

// Redact removes credentials, including the configured ones, from a foreign text, and bounds it.
func (c *Command) Redact(text string) string {
	const limit = 2000
	text = strings.TrimSpace(text)
	for _, value := range c.hidden {
		text = strings.ReplaceAll(text, value, hidden)
	}
	text = RedactShapes(text)
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + " …"
	}
	return text
}

// RedactServers removes credentials and the configured values of MCP servers from a foreign text, and limits its length.
func (c *Command) RedactServers(text string, list []agent.MCPServer) string {
	const shortest = 4
	for _, s := range list {
		for _, values := range []map[string]string{s.Env, s.Headers} {
			for _, value := range values {
				if len(value) >= shortest {
					text = strings.ReplaceAll(text, value, hidden)
				}
			}
		}
		if s.URL != "" {
			text = strings.ReplaceAll(text, s.URL, "[address]")
		}
	}
	return c.Redact(text)
}

// hiddenValues are the configured variables that look like credentials.
func hiddenValues(env map[string]string) []string {
	const shortest = 6
	var hidden []string
	for name, value := range env {
		for _, part := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "AUTH"} {
			if strings.Contains(strings.ToUpper(name), part) && len(value) >= shortest {
				hidden = append(hidden, value)
				break
			}
		}
	}
	return hidden
}
