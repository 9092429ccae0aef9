# The agent works in a repository, uses what it brings for Claude Code, and has the tools of two MCP servers.
#   GITHUB_TOKEN=… bin/clawhost -config examples/repository.hcl
# Open the address that it prints, and write /tools.

state_dir = "~/.local/state/clawhost-repository"

agent {
  workspace = "~/src/backend"
  # Its texts only: no settings, no hooks. Each server of .mcp.json waits for /mcp allow.
  project = ["instructions", "skills", "agents", "mcp"]
}

claude {
  mcp "github" {
    command = ["github-mcp-server", "stdio"]
    env     = { GITHUB_PERSONAL_ACCESS_TOKEN = env("GITHUB_TOKEN") }
  }
  mcp "docs" {
    url = "https://docs.example.com/mcp"
  }
  # All other tools of these servers are asked about.
  allowed_tools = ["mcp__github__get_*", "mcp__docs__*"]
}

access {
  owners = ["webchat:local"]
}

plugin "webchat" {}
