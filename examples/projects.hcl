# Three agents on one host: an assistant, and one for each of two repositories. In the group "Projects", the topic 7 belongs
# to the server and the topic 9 to the app; elsewhere the assistant answers, and the owner calls the others with /agent.

agent {
  name        = "Claw"
  description = "everything else"
}

agent "server" {
  description  = "the API server"
  workspace    = "~/src/server"
  project      = ["instructions", "skills"] # what the repository says to Claude Code
  claude {
    model         = "opus"
    allowed_tools = ["Bash(go test *)", "Bash(git diff *)"]
  }
}

agent "app" {
  description   = "the mobile app"
  workspace     = "~/src/app"
  open_to       = "allowed" # people who may use commands may call it, too
  worktree      = "thread"  # each topic has a git worktree of its own, which /worktree merges
  system_prompt = "Answer briefly. Ask before you change the API."
  heartbeat {
    every  = "4h"
    prompt = "See whether the builds are green. If they are, answer NO_REPLY."
  }
}

route {
  chat   = "-1001234567890"
  thread = "7"
  agent  = "server"
}

route {
  chat   = "-1001234567890"
  thread = "9"
  agent  = "app"
}

access {
  owners = ["telegram:123456789"]
  allow  = ["telegram:111111111"]
  group "-1001234567890" {
    require_mention = false
    effort          = "low"
  }
}

plugin "telegram" {
  config {
    token = env("TELEGRAM_TOKEN")
  }
}
