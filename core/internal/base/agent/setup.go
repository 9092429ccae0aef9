package agent

import (
	"fmt"
	"strings"
)

// Setup is what Claude Code is given in addition to the host's own tools and prompts. It does not change once it is made.
type Setup struct {
	Servers      []MCPServer
	Instructions string  // CLAUDE.md and the like, each below a heading; empty: none
	Plugin       string  // a folder with skills, commands and agents; empty: none
	Skills       []Skill // of Plugin, under the names by which the model uses them
}

// Text is what the system prompt says about the instructions and the skills. The CLI lists no skills, as its attachments are
// off, and follows links out of the workspace when it reads instructions.
func (s *Setup) Text() string {
	var b strings.Builder
	if s.Instructions != "" {
		b.WriteString("\n\n## Instructions of the workspace" + s.Instructions)
	}
	if len(s.Skills) == 0 {
		return b.String()
	}
	b.WriteString("\n\n## Skills of the workspace\n\nUse them by the tool Skill, under these names:\n")
	for _, skill := range s.Skills {
		fmt.Fprintf(&b, "\n- %s: %s", skill.Name, skill.Description)
	}
	return b.String()
}

// MCPServer is an MCP server whose tools Claude Code gets. Exactly one of Command and URL is set.
type MCPServer struct {
	Name    string
	Command []string          // the program and its arguments
	Env     map[string]string // added to the program's environment
	URL     string
	Headers map[string]string // of each request to URL
}

// ServerStatus is the state of an MCP server in the latest process that reported it.
type ServerStatus struct {
	Name  string
	State string // connected, pending, failed, needs-auth, or what newer CLIs say
	Error string // why it failed; holds no configured secret
}

// Servers returns the MCP servers of a profile.
func (p Profile) Servers() []MCPServer {
	if p.Setup == nil {
		return nil
	}
	return p.Setup.Servers
}

// Failed reports whether the server's tools are missing until something is done about it.
func (s ServerStatus) Failed() bool { return s.State != "connected" && s.State != "pending" }

// SkillFiles stands below the text of a skill that is a copy, and tells the model where its other files are.
func SkillFiles(dir string) string { return "\n\nFiles of this skill: " + dir + "\n" }
