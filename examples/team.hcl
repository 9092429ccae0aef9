# Two bots on one host: one for a team's group and its members, one for its owner only. The agent reads and searches its
# workspace, which Claude Code allows without asking, and can do nothing else. Both bots share the workspace.

state_dir = "~/.local/state/clawhost-team"

log {
  format = "json"
}

agent {
  name      = "Deskmate"
  workspace = "~/deskmate"
  timezone  = "Europe/Berlin"
}

claude {
  allowed_tools    = [] # "Read" would allow every file that the host's user can read
  disallowed_tools = ["Bash"]
  max_processes    = 6
}

inbound {
  max_age = "2h drop" # older messages are not answered
}

access {
  owners = ["private:123456789"]
  dm     = "allowlist"
}

plugin "team" {
  source = "clawhost-telegram"
  config {
    token = env("TEAM_TOKEN")
  }
  access {
    owners        = ["team:123456789"]
    allow         = ["team:111111111", "team:222222222"]
    commands_from = ["team:111111111"] # besides owners
    group "-1001234567890" {
      require_mention = true # the default
    }
  }
  reply {
    prefix = "Deskmate:"
  }
}

plugin "private" {
  source = "clawhost-telegram"
  config {
    token = env("PRIVATE_TOKEN")
  }
}
