package agent

// Setup is what Claude Code is given beside the host's own tools and prompts. It does not change once it is made.
type Setup struct {
	Servers []MCPServer // in the order of their names
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
