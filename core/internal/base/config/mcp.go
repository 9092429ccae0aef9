package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// MCP configures an MCP server whose tools the agent gets. Exactly one of Command and URL is set. No text contains "${".
type MCP struct {
	Command []string          // the program and its arguments
	Env     map[string]string // added to the program's environment
	URL     string            // http or https, without a user
	Headers map[string]string // of each request to URL
}

// ReservedServer is the name of the host's own MCP server.
const ReservedServer = "clawhost"

// serverForm keeps mcp__server__tool unambiguous, and is what the CLI accepts.
var serverForm = lazyregexp.New(`^[A-Za-z0-9]+([_-][A-Za-z0-9]+)*$`)

const maxServerName = 32

// ServerName returns what is wrong with a name of an MCP server, or "".
func ServerName(name string) string {
	switch {
	case strings.EqualFold(name, ReservedServer):
		return fmt.Sprintf("The name %q is that of the host's own MCP server.", name)
	case len(name) > maxServerName || !serverForm().MatchString(name):
		return "The name of an MCP server has 1 to 32 of the characters a to z, A to Z, 0 to 9, and single - and _ between them."
	default:
		return ""
	}
}

var headerName = lazyregexp.New("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")

// serverBlock adds an MCP server and returns its block.
func (c *Claude) serverBlock(name string) block {
	return block{path: "claude.mcp", misnamed: ServerName(name), either: []string{"command", "url"}, requires: map[string]string{"env": "command", "headers": "url"}, attrs: entry(&c.MCP, name, func(m *MCP) []attr {
		return []attr{
			{"command", program(&m.Command)},
			{"env", literals(variables(&m.Env, nil))},
			{"url", endpoint(&m.URL)},
			{"headers", literals(headers(&m.Headers))},
		}
	})}
}

// expands is what the CLI replaces by variables of its own environment, which may be credentials.
const expands = "${"

// literalText refuses a text that the CLI would change.
func (v value) literalText() (string, bool) {
	s, ok := v.text()
	if ok && strings.Contains(s, expands) {
		v.refuse(`must not contain "${", which Claude Code would replace: use env("NAME")`)
		return "", false
	}
	return s, ok
}

// program stores a program with its arguments. The program is a name found on PATH, or a path.
func program(to *[]string) setter {
	return func(v value) {
		elements, ok := v.list()
		if !ok {
			return
		}
		if len(elements) == 0 {
			v.refuse(`must be a program with its arguments, such as ["github-mcp-server", "stdio"]`)
			return
		}
		list := []string{}
		for i, e := range elements {
			s, ok := e.literalText()
			if !ok {
				continue
			}
			if i == 0 {
				command(&s)(e)
			}
			list = append(list, s)
		}
		*to = list
	}
}

func endpoint(to *string) setter {
	return func(v value) {
		s, ok := v.literalText()
		switch {
		case !ok:
		case !webAddress(s):
			v.refuse("must be an http or https address without a user")
		default:
			*to = s
		}
	}
}

// ServerAddress reports whether a text is an address at which an MCP server can be reached.
func ServerAddress(s string) bool { return webAddress(s) }

// parts stores parts of a folder's setup.
func parts(to *[]string) setter {
	return func(v value) {
		elements, _ := v.list()
		list := []string{}
		for _, e := range elements {
			part := ""
			oneOf(&part, "instructions", "skills", "agents", "mcp")(e)
			list = append(list, part)
		}
		*to = list
	}
}

// headers stores the headers of a request.
func headers(to *map[string]string) setter {
	return func(v value) {
		elements, ok := v.object()
		if !ok {
			return
		}
		list := map[string]string{}
		for _, e := range elements {
			name := e.key()
			same := func(other string) bool { return strings.EqualFold(other, name) }
			s, ok := e.text()
			switch {
			case !ok:
			case !headerName().MatchString(name):
				e.refuse("contains a name that is not valid for an HTTP header")
			case slices.ContainsFunc(slices.Collect(maps.Keys(list)), same):
				e.refuse("contains %s twice", name)
			case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
				e.refuse("must not contain control characters")
			default:
				list[name] = s
			}
		}
		*to = list
	}
}

// literals refuses texts that the CLI would change, and hands the others to a setter.
func literals(set setter) setter {
	return func(v value) {
		if elements, ok := v.object(); ok {
			for _, e := range elements {
				if _, ok := e.literalText(); !ok {
					return
				}
			}
			set(v)
		}
	}
}
